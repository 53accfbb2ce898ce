"""Validation with JSON schemas for the Placement API.

The messages are those of jsonschema, as in Placement. This module limits the work that jsonschema does for large
documents: it compares every two items of a list, collects an error for each item, and prints whole documents.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import orjson
from oslo_utils import uuidutils
from webob.multidict import MultiDict

from ironic_traits.api.placement.schemas import Schema
from ironic_traits.placement import failures

#: Maximum number of errors from which the one to report is chosen.
_MAX_ERRORS = 100
#: Maximum size of a document that a message shows completely, in bytes, and length of the excerpt of a larger one, in
#: characters.
_MAX_SHOWN = 10_000
_MAX_QUOTED = 200

_FORMATS = jsonschema.FormatChecker()
_FORMATS.checks('uuid')(uuidutils.is_uuid_like)


def _unique_items(validator: Any, unique: bool, instance: Any, schema: Schema) -> Iterator[jsonschema.ValidationError]:
    """Yield an error for a list with duplicate items, like jsonschema, but in linear time."""
    if unique and validator.is_type(instance, 'array'):
        items = {orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in instance}
        if len(items) < len(instance):
            yield jsonschema.ValidationError(f'{_short(repr(instance))} has non-unique elements')


#: The keywords of the schema of a name. Lists of names are long.
_OF_NAMES = {'type', 'minLength', 'maxLength'}


def _items(validator: Any, items: Schema, instance: Any, schema: Schema) -> Iterator[jsonschema.ValidationError]:
    """Yield the errors in the items of a list, like jsonschema, which makes a validator for each item."""
    if not _are_names(items, instance):
        yield from jsonschema.Draft202012Validator.VALIDATORS['items'](validator, items, instance, schema)


def _are_names(schema: Schema, instance: Any) -> bool:
    if not isinstance(instance, list) or not schema.keys() <= _OF_NAMES or schema.get('type') != 'string':
        return False
    shortest, longest = schema.get('minLength', 0), schema.get('maxLength', float('inf'))
    return all(isinstance(item, str) and shortest <= len(item) <= longest for item in instance)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {'uniqueItems': _unique_items, 'items': _items}
)


def validators(schemas: Mapping[int, Schema | None]) -> dict[int, Any]:
    """Return the validators of a schema that depends on the version.

    :param schemas: {minor version: JSON schema from that version on, None for no document}.
    :returns: {minor version: validator, or None}, sorted.
    """
    return {minor: schema and _Validator(schema, format_checker=_FORMATS) for minor, schema in sorted(schemas.items())}


def at(by_version: dict[int, Any], minor: int) -> Any:
    """Return what holds at a version, such as a validator or a schema.

    :param by_version: {minor version: what holds from that version on}, sorted.
    """
    return next(value for since, value in reversed(by_version.items()) if since <= minor)


def check(validator: Any, document: Any, message: str) -> None:
    """Raise BadRequest unless a document is valid.

    :param message: prefix of the message of the error.
    """
    errors = itertools.islice(validator.iter_errors(document), _MAX_ERRORS)
    error = jsonschema.exceptions.best_match(errors)
    if error:
        # str(error) also pretty-prints the schema and the instance, which takes seconds for a large document.
        text = str(error) if _is_small(error.instance) else _short(error.message)
        raise failures.BadRequest(reason=f'{message}: {text}')


def check_query(validator: Any, arguments: MultiDict) -> None:
    """Raise BadRequest unless the query parameters of a request are valid.

    Of a repeated parameter, the last and the first value are validated.

    """
    items = list(arguments.items())
    last, first = dict(items), dict(reversed(items))
    check(validator, last, 'Invalid query string parameters')
    if first != last:
        check(validator, first, 'Invalid query string parameters')


def validate(document: Any, schema: Schema) -> None:
    """Raise BadRequest unless a document matches a JSON schema."""
    check(_Validator(schema, format_checker=_FORMATS), document, 'JSON does not validate')


def _is_small(instance: Any) -> bool:
    return len(orjson.dumps(instance)) <= _MAX_SHOWN


def _short(text: str) -> str:
    return text if len(text) <= _MAX_QUOTED else f'{text[:_MAX_QUOTED]}…'
