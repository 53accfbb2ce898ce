"""Request bodies: read, never more than is allowed, and typed."""

import json
import re

import orjson
import pecan
import wsme.types
from wsme.rest import json as wsme_json

from ironic_traits import failures
from ironic_traits.api import nesting

#: What an integer of more than 64 bits looks like, and the most characters of a smaller one.
_LONG_NUMBER = re.compile(rb'[0-9]{19}')
_MAX_DIGITS = 20

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
    """Return the bytes of the request's body.

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
    """Return the document of a body.

    :param raw: bytes.
    :raises failures.InvalidInput: it is no JSON, is nested too deep, or has something in it that cannot be stored.
    """
    # orjson refuses what no database keeps or no answer could carry again: NaN, lone surrogates, bottomless nesting.
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise failures.InvalidInput(reason=f'Malformed JSON: {error}') from error
    if raw.count(b'[') + raw.count(b'{') > nesting.MAX_DEPTH:
        nesting.check(document)
    if _LONG_NUMBER.search(raw):
        json.loads(raw, parse_int=_integer)
    if b'\\u0000' in raw and _has_nul(document):
        raise failures.InvalidInput(reason='The body has a NUL character (\\u0000) in it: no text may contain one.')
    return document


def _integer(digits):
    """Raise InvalidInput unless an integer has 64 bits at most.

    orjson makes floats of larger ones, which are not the same number.
    """
    if len(digits) > _MAX_DIGITS or not -(2**63) <= int(digits) < 2**64:
        raise failures.InvalidInput(reason=f'The integer {digits[:40]} is too large: 64 bits are allowed.')
    return int(digits)


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
        _check_fields(datatype, document)
    try:
        if wsme.types.isusertype(datatype):
            # WSME validates these where they are set, and a whole body is set nowhere.
            return datatype.validate(document)
        return wsme_json.fromjson(datatype, document)
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f'The body is not what it must be: {error}') from error


def _check_fields(datatype, document):
    """Refuse a document without a mandatory field, or with something else where a list must be.

    WSME lets null stand for a mandatory field, and does not say which field is no list.
    """
    for attribute in wsme.types.list_attributes(datatype):
        value = document.get(attribute.name)
        if attribute.mandatory and value is None:
            raise failures.InvalidInput(reason=f"'{attribute.name}' is a required property and may not be null.")
        if wsme.types.isarray(attribute.datatype) and value is not None and not isinstance(value, list):
            raise failures.InvalidInput(reason=f"'{attribute.name}' must be a list, not {_kind(value)}.")


def _kind(document):
    names = {dict: 'an object', list: 'an array', str: 'a string', bool: 'a boolean', type(None): 'null'}
    return names.get(type(document), 'a number')
