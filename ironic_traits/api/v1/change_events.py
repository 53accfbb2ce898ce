"""GET /v1/changes as a stream of server-sent events.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html, which browsers read with
``EventSource``. An EventSource can send no header with a version, so a stream needs none.
"""

from collections.abc import Sequence
from wsgiref.types import WSGIEnvironment

from oslo_config import cfg
from oslo_utils import timeutils

from ironic_traits import failures
from ironic_traits.api import preconditions
from ironic_traits.api.resource import DETACHED, STREAM
from ironic_traits.changes import change_feed
from ironic_traits.changes.change_streams import Events
from ironic_traits.context import Context

_LAST = 'HTTP_LAST_EVENT_ID'


def open_stream(context: Context, rule: str, since: str | None, kinds: Sequence[str]) -> Events:
    """Return a new stream.

    :param rule: the policy rule that must allow it. It is checked again from time to time.
    :param since: the token in the query; None if it has no token. The header Last-Event-ID has precedence: a browser
        that connects again sends it, with the query of the first request.
    :param kinds: kinds of objects.
    :raises failures.Failure: the token is invalid or too old, or no stream can be opened.
    """
    environ, options = context.request.environ, context.conf.changes
    preconditions.refuse(context)
    text = environ.get(_LAST) or since
    if text is None:
        token = change_feed.now(context)
    else:
        token = change_feed.parse(text)
        # For a token that is too old, the response is 410, after which a browser does not connect again.
        change_feed.since(context, token, kinds, 1)
    is_detached = environ.get(DETACHED, False)
    limit = options.max_streams if is_detached else _limit(environ, context.conf)
    context.service.streams.admit(limit)

    def check() -> None:
        context.can(rule, target={})

    seconds = min(options.stream_seconds, _seconds_of_token(environ))
    events = Events(context.service.streams, token, kinds, check, seconds, options.stream_heartbeat)
    if not is_detached:
        environ[STREAM] = events
    return events


def _limit(environ: WSGIEnvironment, conf: cfg.ConfigOpts) -> int:
    """Return the maximum number of streams of a process in which each stream occupies a thread for requests.

    :raises failures.StreamsUnsupported: no stream is possible.
    """
    limit = conf.api.threads // 4 if environ.get('wsgi.multithread') else 0
    if not limit:
        raise failures.StreamsUnsupported
    return min(limit, conf.changes.max_streams)


def _seconds_of_token(environ: WSGIEnvironment) -> float:
    """Return for how many seconds the keystone token of a request is valid."""
    text = environ.get('keystone.token_info', {}).get('token', {}).get('expires_at')
    if not text:
        return float('inf')
    return max(0, timeutils.delta_seconds(timeutils.utcnow(with_timezone=True), timeutils.parse_isotime(text)))
