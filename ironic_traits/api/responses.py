"""The responses to requests that have succeeded."""

import dataclasses
import datetime
from collections.abc import Iterable
from typing import Any

import pecan

from ironic_traits.api import conditional, rendering
from ironic_traits.api.chunks import Chunks
from ironic_traits.changes.change_streams import Events
from ironic_traits.context import Context

#: Content type of a stream of events.
EVENTS = 'text/event-stream'
#: Proxies must not store or collect events: nginx collects unless it reads X-Accel-Buffering.
_EVENT_HEADERS = (('Cache-Control', 'no-store'), ('X-Accel-Buffering', 'no'))

_CONTENT_TYPE = ('Content-Type', rendering.CONTENT_TYPE)
_NO_LENGTH = ('Content-Length', '0')


@dataclasses.dataclass
class Response:
    """The response of a route that is not just a body with the usual status of the route.

    :ivar body: a JSON document; its bytes, of the Placement API only; None for no body.
    :ivar status: the HTTP status.
    :ivar location: path for the Location header, below the host.
    :ivar headers: further headers, {name: value}.
    :ivar modified: time for the Last-Modified header, of the Placement API only.
    """

    body: Any = None
    status: int = 200
    location: str | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    modified: datetime.datetime | None = None


def warnings(sentences: Iterable[str]) -> dict[str, str]:
    """Return the header with warnings (RFC 7234, 5.5) as a dict; {} for none.

    :param sentences: without quotation marks.
    """
    return {'Warning': ', '.join(f'299 - "{sentence}"' for sentence in sentences)} if sentences else {}


def render(context: Context, response: Response) -> pecan.Response:
    """Return the response to a request, as webob has it."""
    headers = [*response.headers.items()]
    if response.location:
        headers.insert(0, ('Location', context.url(response.location)))
    if response.body is None:
        return _Document(response.status, b'', [*headers, _NO_LENGTH])
    if isinstance(response.body, Events):
        return _Stream(response.body, [('Content-Type', EVENTS), *_EVENT_HEADERS])
    if isinstance(response.body, Chunks):
        return _Stream(response.body, [*headers, _CONTENT_TYPE])
    if context.request.method != 'GET' or not context.protocol.has_tags:
        body = response.body if isinstance(response.body, bytes) else rendering.dump(response.body)
        return _Document(response.status, body, [*headers, ('Content-Length', str(len(body))), _CONTENT_TYPE])
    body, tag = conditional.result(context.request.environ, response.body)
    etag = ('ETag', f'"{tag}"')
    if not body:
        return _Document(304, body, [*headers, _NO_LENGTH, etag])
    return _Document(response.status, body, [*headers, _CONTENT_TYPE, ('Content-Length', str(len(body))), etag])


class _Document(pecan.Response):
    """A response with a JSON document, or with none.

    webob changes the list of headers for each header that is set, and looks at it again to return the body, whether or
    not it has a charset. Here all is known from the beginning.

    :param body: the document as bytes; b'' without a document.
    :param headers: all headers, [(name, value), …].
    """

    charset = None
    body = b''

    def __init__(self, status: int, body: bytes, headers: list[tuple[str, str]]) -> None:
        super().__init__(app_iter=[body], status=None if status == 200 else status, headerlist=headers)
        self.body = body


class _Stream(pecan.Response):
    """A response whose body is made while it is sent.

    :param parts: iterator of bytes.
    :param headers: all headers, [(name, value), …].
    """

    def __init__(self, parts: Iterable[bytes], headers: list[tuple[str, str]]) -> None:
        super().__init__(app_iter=parts, headerlist=headers)

    @property
    def body(self) -> bytes:
        """Not the body: pecan only looks whether it is empty, and to read it would take as long as the stream."""
        return b'stream'
