"""JSON schemas of the Placement API: their validators, and the messages of what does not validate.

The messages are jsonschema's own, as in the real service.  What jsonschema does beyond all bounds is bounded here: it
compares each item of a list with each other one, collects an error for each item of a list, and prints whole documents.
"""

import itertools

import jsonschema
import orjson
from oslo_utils import uuidutils

from ironic_traits.placement import failures

#: How many errors of a document are looked at to find the one to report.
_MAX_ERRORS = 100
#: The largest document, in bytes, that a message shows, and how much of a larger one it quotes, in characters.
_MAX_SHOWN = 10_000
_MAX_QUOTED = 200

_FORMATS = jsonschema.FormatChecker()
_FORMATS.checks('uuid')(uuidutils.is_uuid_like)


def _unique_items(validator, unique, instance, schema):
    """Yield an error for a list with an item that is there twice: as jsonschema, in linear time."""
    if unique and validator.is_type(instance, 'array'):
        items = {orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in instance}
        if len(items) < len(instance):
            yield jsonschema.ValidationError(f'{_short(repr(instance))} has non-unique elements')


_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {'uniqueItems': _unique_items})


def validators(schemas):
    """Return the validators of the versions of a schema.

    :param schemas: {minor version: JSON schema from there on, None for no document}.
    """
    return {minor: schema and _Validator(schema, format_checker=_FORMATS) for minor, schema in sorted(schemas.items())}


def at(validators, minor):
    """Return the validator of a version."""
    return next(validator for since, validator in reversed(validators.items()) if since <= minor)


def check(validator, document, message):
    """Raise BadRequest unless a document is valid.

    :param message: what the error's message begins with.
    """
    errors = itertools.islice(validator.iter_errors(document), _MAX_ERRORS)
    error = jsonschema.exceptions.best_match(errors)
    if error:
        # The whole text has the schema and what does not fit it, printed over many lines: that takes seconds for a
        # large document.
        text = str(error) if _is_small(error.instance) else _short(error.message)
        raise failures.BadRequest(reason=f'{message}: {text}')


def validate(document, schema):
    """Raise BadRequest unless a document is what a JSON schema says."""
    check(_Validator(schema, format_checker=_FORMATS), document, 'JSON does not validate')


def _is_small(instance):
    return len(orjson.dumps(instance)) <= _MAX_SHOWN


def _short(text):
    return text if len(text) <= _MAX_QUOTED else f'{text[:_MAX_QUOTED]}…'
