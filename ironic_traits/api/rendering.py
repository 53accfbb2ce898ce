"""Serialization of responses and failures to JSON."""

import http
from typing import Any
from wsgiref.types import WSGIEnvironment

import orjson

from ironic_traits.failures import Failure

CONTENT_TYPE = 'application/json'
#: JSON schema of the body of a failure.
FAILURE = {
    'type': 'object',
    'properties': {'error_message': {'type': 'string', 'contentMediaType': CONTENT_TYPE}, 'code': {'type': 'string'}},
    'required': ['error_message', 'code'],
}


def dump(document: Any) -> bytes:
    """Return a document as JSON bytes. Datetimes are written in UTC, with an offset."""
    return orjson.dumps(document, option=orjson.OPT_NAIVE_UTC)


def failure(error: Failure, environ: WSGIEnvironment) -> tuple[bytes, str]:
    """Return the body of a failure in the Bare Metal format: a JSON document in a string, and our code next to it.

    :returns: (bytes, their content type).
    """
    if error.routing:
        # Ironic has this format for failures before a controller is reached. Its clients support both.
        title = http.HTTPStatus(error.status).phrase
        message = {'code': error.status, 'title': title, 'description': str(error)}
    else:
        code = 'Client' if error.status < 500 else 'Server'
        message = {'faultcode': code, 'faultstring': str(error), 'debuginfo': None}
    return dump({'error_message': dump(message).decode(), 'code': error.code, **error.beside}), CONTENT_TYPE
