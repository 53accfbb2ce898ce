"""Conditional requests: ETag, If-None-Match, and If-Match of a GET. ``api.preconditions`` has that of writes.

The ETag of a response is a digest of its body. A GET whose If-None-Match has it is answered with 304, without the body.

To find out that a list of nodes is unchanged, it need not be read again. Each process remembers, for recent conditional
requests, the ETag and the version of what the list was read from: the place in the change feed, and what else a list
depends on. The version is read before the list. So a list that is read while nodes change is remembered with the
version before the change, and the next request reads it again: a 304 is never stale.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any
from wsgiref.types import WSGIEnvironment

from webob.etag import ETagMatcher

from ironic_traits import failures
from ironic_traits.api import rendering
from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.inventory.core import eligibility

#: Key in the WSGI environ of the header.
IF_MATCH = 'HTTP_IF_MATCH'


class NotModified:
    """The result of a GET whose body the client has already.

    :param tag: ETag, without quotes.
    """

    def __init__(self, tag: str) -> None:
        self.tag = tag


def digest_of(body: bytes) -> str:
    """Return the ETag of a body (bytes), without quotes."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def matches(environ: WSGIEnvironment, tag: str) -> bool:
    """Whether the If-Match of a request has an ETag, without quotes. Weak ones never match."""
    header = environ[IF_MATCH].strip()
    return bool(header) and tag in ETagMatcher.parse(header, strong=True)


def result(environ: WSGIEnvironment, document: Any) -> tuple[bytes, str]:
    """Return the body of the response to a GET, and its ETag.

    :param document: JSON document, its JSON as bytes, or NotModified.
    :returns: (bytes, ETag without quotes); (b'', ETag) if the client has it already.
    :raises failures.PreconditionFailed: the request has an If-Match with another ETag.
    """
    if isinstance(document, NotModified):
        body, tag = b'', document.tag
    else:
        body = document if isinstance(document, bytes) else rendering.dump(document)
        tag = digest_of(body)
    if IF_MATCH in environ and not matches(environ, tag):
        raise failures.PreconditionFailed(environ['PATH_INFO'], tag)
    return b'' if _has(environ, tag) else body, tag


def _has(environ: WSGIEnvironment, tag: str) -> bool:
    """Whether the client of the request has the body with an ETag."""
    header = environ.get('HTTP_IF_NONE_MATCH')
    return bool(header) and tag in ETagMatcher.parse(header, strong=False)


def nodes(context: Context, read: Callable[[], Any]) -> Any:
    """Return a list of nodes: the document, its JSON as bytes, or NotModified if the client has it already.

    :param read: function that reads the list and returns the document.
    """
    environ = context.request.environ
    if 'HTTP_IF_NONE_MATCH' not in environ:
        return read()
    key = _request(context)
    version = _version(context)
    remembered = context.service.etags.get(key, version)
    if remembered and _has(environ, remembered):
        return NotModified(remembered)
    body = rendering.dump(read())
    context.service.etags.remember(key, version, digest_of(body))
    return body


def _request(context: Context) -> tuple[str, str, int, bool, str]:
    """Return what the response to the request depends on, besides the version: URL, caller and version of the API."""
    caller = json.dumps(context.to_policy_values(), sort_keys=True, default=str)
    return context.request.path_qs, context.base, context.minor, context.has_additions, caller


def _version(context: Context) -> tuple[Any, ...]:
    """Return the version of all data that lists of nodes are read from. Equal versions mean equal lists."""
    place = change_feed.now(context)
    with context.read() as connection:
        # A reservation that expires changes lists without a write.
        expired = eligibility.count_expired(connection)
    return place, expired, context.service.conductors.hosts(context), context.policy_version()
