"""JSON schemas that several nouns are made of."""

import uuid as uuids

#: The largest number that a column of integers keeps.
MAX_INTEGER = 2**31 - 1

# \Z and not $, which would let a newline pass.
NAME = r'^[A-Z0-9_]+\Z'
CUSTOM_NAME = r'^CUSTOM_[A-Z0-9_]+\Z'

GENERATION = {'type': 'integer'}
TEXT = {'type': 'string'}
UUID = {'type': 'string', 'format': 'uuid'}


def canonical(uuid):
    """Write a uuid as the tables keep it: there are others, with braces, without dashes, in upper case."""
    return str(uuids.UUID(uuid))


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
