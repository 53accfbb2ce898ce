"""JSON schemas that several nouns are made of."""

import uuid as uuids

from oslo_utils import uuidutils

from ironic_traits.placement import failures

#: The largest number that a column of integers keeps.
MAX_INTEGER = 2**31 - 1

# \Z and not $, which would let a newline pass.
UUID_KEY = r'^[0-9a-fA-F-]{36}\Z'
NAME = r'^[A-Z0-9_]+\Z'
CUSTOM_NAME = r'^CUSTOM_[A-Z0-9_]+\Z'

GENERATION = {'type': 'integer'}
NATURAL = {'type': 'integer', 'minimum': 1}
IDENTITY = {'type': 'string', 'minLength': 1, 'maxLength': 255}
TEXT = {'type': 'string'}
UUID = {'type': 'string', 'format': 'uuid'}


def canonical(uuid):
    """Write a uuid as the tables keep it: there are others, with braces, without dashes, in upper case."""
    return str(uuids.UUID(uuid))


def table(key, value, least=0):
    """Make the schema of an object whose keys are all alike.

    :param key: pattern of them.
    :param value: schema.
    :param least: how many there must be.
    """
    return {'type': 'object', 'minProperties': least, 'patternProperties': {key: value}, 'additionalProperties': False}


def by_uuid(table):
    """Give an object by uuids as the tables keep them.

    :raises failures.BadRequest: one of its keys is no uuid, or two are the same.
    """
    for key in table:
        if not uuidutils.is_uuid_like(key):
            raise failures.BadRequest(reason=f"JSON does not validate: '{key}' is not a 'uuid'")
    known = {canonical(key): value for key, value in table.items()}
    if len(known) < len(table):
        raise failures.BadRequest(reason='JSON does not validate: two keys of an object are the same uuid')
    return known


def document(properties, required=()):
    """Make the schema of an object.

    :param properties: {name: schema}: no others are allowed.
    :param required: names that must be there.
    """
    return {
        'type': 'object',
        'properties': properties,
        'required': list(required),
        'additionalProperties': False,
    }
