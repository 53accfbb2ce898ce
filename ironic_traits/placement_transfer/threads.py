"""Concurrent requests."""

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar('T')


def each(
    jobs: int,
    function: Callable[[T], object],
    items: Iterable[T],
    progress: Callable[[int], object] = lambda number: None,
) -> None:
    """Call a function with each item, in threads. After an exception, start no further call.

    :param jobs: number of threads.
    :param progress: function that is called with 1 after each call.
    """
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            for future in concurrent.futures.as_completed(futures):
                future.result()
                progress(1)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
