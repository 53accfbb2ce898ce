"""Reading of request bodies, up to the allowed size, and their conversion to WSME types."""

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Iterator
from typing import Any
from wsgiref.types import WSGIEnvironment

import orjson
import wsme.exc
import wsme.types
from wsme.rest import json as wsme_json

from ironic_traits import failures
from ironic_traits.api import nesting
from ironic_traits.context import Context

#: A body without such digits has no integer of more than 64 bits. An integer of 64 bits has at most 20 characters.
_LONG_NUMBER = re.compile(rb'[0-9]{19}')
_MAX_DIGITS = 20
#: A comma or an opening bracket, after strings and anything else. At the end of the body, the group is None.
_SEPARATOR = re.compile(rb'(?:"(?:[^"\\]++|\\.)*+"?|[^",\[{]++)*+(?:([,\[{])|\Z)', re.DOTALL)
#: Bodies of more bytes than this are processed one after the other.
_LARGE = 1024 * 1024
_SMALL = 16 * 1024
_LARGE_BODIES = threading.Lock()
#: Seconds to wait for the other large bodies.
_PATIENCE = 30

#: The versions of HTTP in which each body is stated by a header.
_STATED = ('HTTP/1.1', 'HTTP/1.0')
_FORM_TYPES = ('application/x-www-form-urlencoded', 'multipart/form-data')


@contextlib.contextmanager
def turn(raw: bytes) -> Iterator[None]:
    """Hold up the request of a large body while another one is processed, because each one needs a lot of memory.

    :raises failures.Overloaded: that takes too long.
    """
    if len(raw) <= _LARGE:
        yield
        return
    if not _LARGE_BODIES.acquire(timeout=_PATIENCE):
        raise failures.Overloaded
    try:
        yield
    finally:
        _LARGE_BODIES.release()


def is_small(context: Context) -> bool:
    """Whether the headers of the request say that it has no body, or one that needs neither memory nor time."""
    request = context.request
    return 'HTTP_TRANSFER_ENCODING' not in request.environ and (request.content_length or 0) <= _SMALL


def converted(context: Context, raw: bytes, datatype: Any, optional: bool) -> Any:
    """Return the body of the request as an object of a WSME type.

    :returns: an object of the type; None for no body.
    :raises failures.InvalidInput: the body is missing, is not JSON, or not of the type.
    :raises failures.TooManyValues: it has too many values.
    """
    if not raw.strip():
        if optional:
            return None
        raise failures.InvalidInput(reason='The request needs a body: a JSON document.')
    if context.request.content_type in _FORM_TYPES:
        raise failures.InvalidInput(
            reason=f'The body is {context.request.content_type}: send JSON with "Content-Type: application/json".'
        )
    document = parse(context, raw)
    if document is None and optional:
        return None
    return typed(datatype, document)


def refuse(context: Context) -> None:
    """Raise InvalidInput if the request has a body.

    :raises failures.InvalidInput: it has one.
    """
    raw = content(context)
    # Some clients send an empty object where no body is expected.
    if raw.strip() not in (b'', b'{}', b'null'):
        raise failures.InvalidInput(reason='The request takes no body.')


def content(context: Context, limit: int | None = None) -> bytes:
    """Return the bytes of the request's body.

    :param limit: maximum number of bytes; None for [api] max_request_body_size.
    :raises failures.BodyTooLarge: it is larger than the limit.
    :raises failures.InvalidInput: it is not complete.
    """
    limit = limit or context.conf.api.max_request_body_size
    request = context.request
    if _has_none(request.environ):
        return b''
    if (request.content_length or 0) > limit:
        raise failures.BodyTooLarge(limit=limit)
    if not request.is_body_readable:
        return b''
    raw = request.body_file_raw.read(limit + 1)
    if len(raw) > limit:
        raise failures.BodyTooLarge(limit=limit)
    _check_complete(request, raw)
    return raw


def _check_complete(request: Any, raw: bytes) -> None:
    """Raise InvalidInput if the connection broke before the client had sent the whole body.

    Without this check, a body of which nothing arrives would be a missing one, which some routes allow. The server does
    not tell whether a chunked body has ended or broken off. So an empty one is refused. Half a JSON document is
    malformed anyway.
    """
    expected = request.content_length
    is_chunked = 'HTTP_TRANSFER_ENCODING' in request.environ
    if (is_chunked and not raw) or (not is_chunked and expected is not None and len(raw) < expected):
        raise failures.InvalidInput(reason=f'The body is not complete: only {len(raw)} bytes of it have arrived.')


def _has_none(environ: WSGIEnvironment) -> bool:
    """Whether the headers of a request say that it has no body (RFC 9112, 6.3). Then there is nothing to read."""
    is_stated = environ.get('CONTENT_LENGTH') or 'HTTP_TRANSFER_ENCODING' in environ
    return not is_stated and environ.get('SERVER_PROTOCOL') in _STATED


def parse(context: Context, raw: bytes) -> Any:
    """Return the document of a body.

    :raises failures.InvalidInput: it is not JSON, is nested too deep, or has a value that cannot be stored.
    :raises failures.TooManyValues: it has too many values.
    """
    _check_number(raw, context.conf.api.max_request_body_values)
    # orjson refuses values that a database cannot store or a response cannot contain: NaN, lone surrogates, and very
    # deep nesting.
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise failures.InvalidInput(reason=f'Malformed JSON: {error}') from error
    if raw.count(b'[') + raw.count(b'{') > nesting.MAX_DEPTH:
        nesting.check(document)
    if _LONG_NUMBER.search(raw):
        json.loads(raw, parse_int=_integer)
    if b'\\u0000' in raw and _has_nul(document):
        raise failures.InvalidInput(reason='The body contains a NUL character (\\u0000), which is not allowed.')
    return document


def _check_number(raw: bytes, limit: int) -> None:
    """Raise TooManyValues if a body has more values than the limit. Nothing has been parsed yet.

    Each value follows a comma or an opening bracket, but the first one. Strings may have both, too.

    """
    if sum(map(raw.count, (b',', b'[', b'{'))) < limit:
        return
    last = next(itertools.islice(_SEPARATOR.finditer(raw), limit - 1, None), None)
    if last and last[1]:
        raise failures.TooManyValues(limit=limit)


def _integer(digits: str) -> int:
    """Return an integer from its digits; raise InvalidInput if it has more than 64 bits.

    orjson turns larger integers into floats, which lose digits.
    """
    if len(digits) > _MAX_DIGITS or not -(2**63) <= int(digits) < 2**64:
        raise failures.InvalidInput(reason=f'The integer {digits[:40]} is too large: it may have at most 64 bits.')
    return int(digits)


def _has_nul(document: Any) -> bool:
    # Not recursive: a body may be nested deeper than Python's recursion limit.
    remaining = [document]
    while remaining:
        part = remaining.pop()
        if isinstance(part, dict):
            remaining += part.keys()
            remaining += part.values()
        elif isinstance(part, list):
            remaining += part
        elif isinstance(part, str) and '\0' in part:
            return True
    return False


def typed(datatype: Any, document: Any) -> Any:
    """Return a JSON document as an object of a WSME type.

    :raises failures.InvalidInput: the document is not of the type.
    :raises wsme.exc.ClientSideError: the same, from WSME's own checks.
    """
    if wsme.types.isarray(datatype):
        if not isinstance(document, list):
            raise failures.InvalidInput(reason=f'A JSON array is expected, not {_kind(document)}.')
        return [typed(datatype.item_type, item) for item in document]
    if wsme.types.iscomplex(datatype) and not isinstance(document, dict):
        raise failures.InvalidInput(reason=f'A JSON object is expected, not {_kind(document)}.')
    if wsme.types.iscomplex(datatype):
        _check_fields(datatype, document)
    try:
        if wsme.types.isusertype(datatype):
            # WSME validates user types only where they are attributes of another type.
            return datatype.validate(document)
        return wsme_json.fromjson(datatype, document)
    except wsme.exc.UnknownAttribute as error:
        raise failures.UnknownKeys(error.attributes, _names(datatype)) from error
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f'Invalid body: {error}') from error


def _check_fields(datatype: Any, document: dict[str, Any]) -> None:
    """Raise InvalidInput if a document has an unknown field, lacks a mandatory one, or has another value for a list.

    WSME accepts null for a mandatory field, and its message does not name the field that should be a list. An unknown
    field comes first: it may be the mandatory one, misspelled.
    """
    attributes = wsme.types.list_attributes(datatype)
    names = {attribute.name for attribute in attributes}
    if unknown := document.keys() - names:
        raise failures.UnknownKeys(unknown, names)
    for attribute in attributes:
        value = document.get(attribute.name)
        if attribute.mandatory and value is None:
            raise failures.InvalidInput(reason=f"'{attribute.name}' is a required property and may not be null.")
        if wsme.types.isarray(attribute.datatype) and value is not None and not isinstance(value, list):
            raise failures.InvalidInput(reason=f"'{attribute.name}' must be a list, not {_kind(value)}.")


def _names(datatype: Any) -> set[str]:
    """Return the names of the attributes of a WSME type, and of those that its attributes have."""
    if wsme.types.isarray(datatype):
        return _names(datatype.item_type)
    attributes = wsme.types.list_attributes(datatype) if wsme.types.iscomplex(datatype) else ()
    return {name for each in attributes for name in (each.name, *_names(each.datatype))}


def _kind(document: Any) -> str:
    names = {dict: 'an object', list: 'an array', str: 'a string', bool: 'a boolean', type(None): 'null'}
    return names.get(type(document), 'a number')
