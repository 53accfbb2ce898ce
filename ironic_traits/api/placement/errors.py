"""The body of a failure in the Placement format, which webob renders, as in Placement itself."""

from typing import Any
from wsgiref.types import WSGIEnvironment

import webob
import webob.exc

from ironic_traits import failures
from ironic_traits.api.resource import CONTEXT

#: The minor version that brought error codes.
CODES_SINCE = 23

_ENTRY = {'status': {'type': 'integer'}, **dict.fromkeys(('title', 'detail', 'request_id'), {'type': 'string'})}


def schema(minor: int) -> dict[str, Any]:
    """Return the JSON schema of the body of a failure at a version."""
    properties = _ENTRY | ({'code': {'type': 'string'}} if minor >= CODES_SINCE else {})
    entry = {'type': 'object', 'properties': properties, 'required': list(properties)}
    errors = {'type': 'array', 'items': entry, 'minItems': 1, 'maxItems': 1}
    return {'type': 'object', 'properties': {'errors': errors}, 'required': ['errors'], 'additionalProperties': False}


def failure(error: failures.Failure, environ: WSGIEnvironment) -> tuple[bytes, str]:
    """Return the body of a failure.

    :returns: (bytes, their content type). It is JSON unless the Accept header excludes JSON.
    """
    context = environ[CONTEXT]

    def document(body: str, status: str, title: str, environ: WSGIEnvironment) -> dict[str, Any]:
        entry = {'status': error.status, 'title': title, 'detail': webob.exc.strip_tags(body)}
        if context.minor >= CODES_SINCE:
            entry['code'] = error.code if error.code.startswith('placement.') else 'placement.undefined_code'
        return {'errors': [entry | {'request_id': context.request_id} | error.beside]}

    message = str(error)
    if isinstance(error, failures.Forbidden):
        message = f'Policy does not allow {error.facts["rule"]} to be performed.'
    http_error = webob.exc.status_map[error.status](message, json_formatter=document)
    accept = environ.get('HTTP_ACCEPT', '*/*')
    environ = environ | {
        'HTTP_ACCEPT': 'application/json' if accept == '*/*' else accept,
        # The message of webob's 415 quotes it.
        'CONTENT_TYPE': environ.get('CONTENT_TYPE') or 'None',
    }
    response = webob.Request(environ).get_response(http_error)
    return response.body, response.content_type
