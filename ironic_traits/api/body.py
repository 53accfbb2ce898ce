"""Request bodies: read, never more than is allowed, and typed."""

import orjson
import pecan
import wsme.types
from wsme.rest import json as wsme_json

from ironic_traits import failures

_FORM_TYPES = ('application/x-www-form-urlencoded', 'multipart/form-data')


def read(context, datatype, optional):
    """Read the body of the request.

    :param context: of the request.
    :param datatype: WSME type that it must be of.
    :param optional: whether there may be none.
    :returns: an object of the type; None for no body.
    :raises failures.InvalidInput: there is none, it is no JSON, or not of the type.
    :raises failures.BodyTooLarge: it is larger than [api] max_request_body_size.
    """
    raw = content(context)
    if not raw.strip():
        if optional:
            return None
        raise failures.InvalidInput(reason='The request needs a body: a JSON document.')
    if pecan.request.content_type in _FORM_TYPES:
        raise failures.InvalidInput(
            reason=f'The body came as {pecan.request.content_type}: send it with "Content-Type: application/json".'
        )
    document = parse(raw)
    if document is None and optional:
        return None
    return typed(datatype, document)


def refuse(context):
    """Do nothing when the request has no body.

    :raises failures.InvalidInput: it has one.
    """
    raw = content(context)
    # An empty object is what some clients send where nothing is wanted.
    if raw.strip() not in (b'', b'{}', b'null'):
        raise failures.InvalidInput(reason='The request takes no body.')


def content(context):
    """Give the bytes of the request's body.

    :raises failures.BodyTooLarge: it is larger than [api] max_request_body_size.
    """
    limit = context.conf.api.max_request_body_size
    if (pecan.request.content_length or 0) > limit:
        raise failures.BodyTooLarge(limit=limit)
    if not pecan.request.is_body_readable:
        return b''
    raw = pecan.request.body_file_raw.read(limit + 1)
    if len(raw) > limit:
        raise failures.BodyTooLarge(limit=limit)
    return raw


def parse(raw):
    """Give the document that a body is.

    :raises failures.InvalidInput: it is no JSON, or what no text may be is in it.
    """
    # orjson refuses what no database keeps or no answer could carry again: NaN, lone surrogates, bottomless nesting.
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise failures.InvalidInput(reason=f'Malformed JSON: {error}') from error
    if b'\\u0000' in raw and _has_nul(document):
        raise failures.InvalidInput(reason='The body has a NUL character (\\u0000) in it: no text may contain one.')
    return document


def _has_nul(document):
    # Not by recursion: a body may be nested deeper than that goes.
    left = [document]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            left += part.keys()
            left += part.values()
        elif isinstance(part, list):
            left += part
        elif isinstance(part, str) and '\0' in part:
            return True
    return False


def typed(datatype, document):
    """Turn a JSON document into what a route takes.

    :param datatype: WSME type.
    :returns: an object of it.
    :raises failures.InvalidInput: the document is not of the type.
    :raises wsme.exc.ClientSideError: the same, found by WSME.
    """
    if wsme.types.isarray(datatype):
        if not isinstance(document, list):
            raise failures.InvalidInput(reason=f'A JSON array is expected, not {_kind(document)}.')
        return [typed(datatype.item_type, item) for item in document]
    if wsme.types.iscomplex(datatype) and not isinstance(document, dict):
        raise failures.InvalidInput(reason=f'A JSON object is expected, not {_kind(document)}.')
    if wsme.types.iscomplex(datatype):
        _check_lists(datatype, document)
    try:
        if wsme.types.isusertype(datatype):
            # WSME validates these where they are set, and a whole body is set nowhere.
            return datatype.validate(document)
        return wsme_json.fromjson(datatype, document)
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f'The body is not what it must be: {error}') from error


def _check_lists(datatype, document):
    """Do nothing when there are lists where lists must be: WSME does not say which field is none."""
    for attribute in wsme.types.list_attributes(datatype):
        value = document.get(attribute.name)
        if wsme.types.isarray(attribute.datatype) and value is not None and not isinstance(value, list):
            raise failures.InvalidInput(reason=f"'{attribute.name}' must be a list, not {_kind(value)}.")


def _kind(document):
    names = {dict: 'an object', list: 'an array', str: 'a string', bool: 'a boolean', type(None): 'null'}
    return names.get(type(document), 'a number')
