"""JSON schemas that several resources share."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from oslo_utils import uuidutils

from ironic_traits.placement import failures
from ironic_traits.uuids import canonical

#: The largest value of an integer column.
MAX_INTEGER = 2**31 - 1

# \Z rather than $, which would accept a newline at the end.
UUID_KEY = r'^[0-9a-fA-F-]{36}\Z'
NAME = r'^[A-Z0-9_]+\Z'
CUSTOM_NAME = r'^CUSTOM_[A-Z0-9_]+\Z'

#: A JSON schema.
Schema = dict[str, Any]
GENERATION: Schema = {'type': 'integer'}
NATURAL: Schema = {'type': 'integer', 'minimum': 1}
IDENTITY: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
TEXT: Schema = {'type': 'string'}
UUID: Schema = {'type': 'string', 'format': 'uuid'}


def table(key: str, value: Schema, least: int = 0) -> Schema:
    """Return the schema of an object that maps keys of one pattern to values of one schema.

    :param key: pattern of the keys.
    :param least: minimum number of keys.
    """
    return {'type': 'object', 'minProperties': least, 'patternProperties': {key: value}, 'additionalProperties': False}


def by_uuid(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its uuid keys in canonical form.

    :param mapping: {uuid in any notation: value}.
    :raises failures.BadRequest: a key is not a uuid, or two keys are the same uuid.
    """
    for key in mapping:
        if not uuidutils.is_uuid_like(key):
            raise failures.BadRequest(reason=f"JSON does not validate: '{key}' is not a 'uuid'")
    values = {canonical(key): value for key, value in mapping.items()}
    if len(values) < len(mapping):
        raise failures.BadRequest(reason='JSON does not validate: two keys of an object are the same uuid')
    return values


def document(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Return the schema of an object without additional properties.

    :param required: names of the required properties.
    """
    return {
        'type': 'object',
        'properties': properties,
        'required': list(required),
        'additionalProperties': False,
    }


def response(properties: Mapping[str, Schema], optional: Collection[str] = ()) -> Schema:
    """Return the schema of an object in a response, which has all of its properties but for the optional ones.

    :param optional: names of properties.
    """
    return document(properties, [name for name in properties if name not in optional])


def array(items: Schema) -> Schema:
    """Return the schema of a list in a response."""
    return {'type': 'array', 'items': items}


def growing(additions: Mapping[int, Mapping[str, Schema]]) -> dict[int, Schema]:
    """Return the schemas of an object in a response, to which versions add properties: {minor version: schema}.

    :param additions: {minor version: {name: schema} of the properties that it brought}.
    """
    properties: dict[str, Schema] = {}
    schemas = {}
    for minor, more in additions.items():
        properties = {**properties, **more}
        schemas[minor] = response(properties)
    return schemas


def returning(schemas: Mapping[int, Schema], status: int = 200) -> dict[int, dict[int, Schema]]:
    """Return ``returns`` of ``expose``: each version responds with one status.

    :param schemas: {minor version: schema of the body}.
    """
    return {minor: {status: schema} for minor, schema in schemas.items()}


#: Links in responses.
LINKS = array(response({'rel': TEXT, 'href': TEXT}))
