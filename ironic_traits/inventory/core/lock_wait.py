"""Retries a write while a worker holds the node's lock."""

import functools
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from ironic_traits import failures
from ironic_traits.context import Context

_P = ParamSpec('_P')
_Result = TypeVar('_Result')

#: Seconds between attempts. The pause begins with the minimum and is doubled up to the maximum.
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.2


def waiting_for_lock(
    writer: Callable[Concatenate[Context, _P], _Result],
) -> Callable[Concatenate[Context, _P], _Result]:
    """Decorate a writer that ``api`` calls: retry it for a while when the node is locked, as Ironic does.

    Each attempt has its own transaction, so no lock is held between attempts. Therefore this decorator must be above
    ``retried``. Only a limited number of requests wait at the same time (``Service.waiters``), so that some threads
    stay free. Further requests fail at once.

    :param writer: function whose first parameter is a Context, and that raises failures.NodeLocked.
    """

    @functools.wraps(writer)
    def waits(context: Context, *arguments: _P.args, **options: _P.kwargs) -> _Result:
        deploy = context.conf.deploy
        seconds = deploy.node_locked_retry_attempts * deploy.node_locked_retry_interval
        try:
            return writer(context, *arguments, **options)
        except failures.NodeLocked as locked:
            if not seconds or not locked.is_short or not context.service.waiters.acquire(blocking=False):
                raise
        try:
            return _try_again(seconds, functools.partial(writer, context, *arguments, **options))
        finally:
            context.service.waiters.release()

    return waits


def _try_again(seconds: float, attempt: Callable[[], _Result]) -> _Result:
    pause = _MIN_PAUSE
    while seconds > pause:
        time.sleep(pause)
        seconds -= pause
        pause = min(2 * pause, _MAX_PAUSE)
        try:
            return attempt()
        except failures.NodeLocked:
            continue
    time.sleep(seconds)
    return attempt()
