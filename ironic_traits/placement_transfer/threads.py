"""Concurrent requests."""

import concurrent.futures


def each(jobs, function, items, progress=lambda number: None):
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
