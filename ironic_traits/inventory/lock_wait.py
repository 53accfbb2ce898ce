"""Writers that wait for a while for a node on which work goes on."""

import functools
import time

from ironic_traits import failures

#: Seconds before the first and between later attempts; the second one is doubled up to the third.
_SHORTEST, _LONGEST = 0.02, 0.2


def waiting_for_lock(writer):
    """Decorate a writer that ``api`` calls: try again for a while when it finds its node locked, as Ironic does.

    Each attempt is a transaction of its own, so nothing is held in between: this stands above ``retried``.  A limited
    number of requests wait at a time (``Service.waiters``), and the others are refused at once: some threads stay free.

    :param writer: function that takes a Context first.
    """

    @functools.wraps(writer)
    def waits(context, *arguments, **options):
        deploy = context.conf.deploy
        seconds = deploy.node_locked_retry_attempts * deploy.node_locked_retry_interval
        try:
            return writer(context, *arguments, **options)
        except failures.NodeLocked as locked:
            if not seconds or not locked.is_short or not context.waiters.acquire(blocking=False):
                raise
        try:
            return _try_again(seconds, functools.partial(writer, context, *arguments, **options))
        finally:
            context.waiters.release()

    return waits


def _try_again(left, attempt):
    pause = _SHORTEST
    while left > pause:
        time.sleep(pause)
        left -= pause
        pause = min(2 * pause, _LONGEST)
        try:
            return attempt()
        except failures.NodeLocked:
            continue
    time.sleep(left)
    return attempt()
