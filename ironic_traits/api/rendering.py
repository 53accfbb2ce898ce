"""The one place where answers become bytes, failures too."""

import http

import orjson

from ironic_traits import failures

CONTENT_TYPE = 'application/json'


class Renderer:
    """pecan's renderer 'wsmejson': what a controller returned becomes JSON.

    Datetimes go out in UTC with an offset, None as no body at all.
    """

    def __init__(self, path, extra_vars):
        pass

    @staticmethod
    def render(template, namespace):
        """Give the bytes of {'result': …}."""
        return dump(namespace['result'])


def dump(document):
    """Give the bytes of a JSON document."""
    return orjson.dumps(document, option=orjson.OPT_NAIVE_UTC)


def failure(error):
    """Give the body of a failure in the Bare Metal format: a JSON document in a string, and our code beside it.

    :param error: failures.Failure.
    """
    if error.routing:
        return routing_failure(error.status, http.HTTPStatus(error.status).phrase, str(error), error.code)
    client = error.status < 500
    message = {'faultcode': 'Client' if client else 'Server', 'faultstring': str(error), 'debuginfo': None}
    return _body(message, error.code, error.beside)


def routing_failure(status, title, description, code=None):
    """Give the body of a failure found before a controller was: the other shape that Ironic's clients read."""
    message = {'code': status, 'title': title, 'description': description}
    return _body(message, code or _ROUTING_CODES.get(status, failures.InvalidInput.code))


def _body(message, code, beside=None):
    return dump({'error_message': dump(message).decode(), 'code': code, **(beside or {})})


_ROUTING_CODES = {
    404: failures.ResourceNotFound.code,
    405: failures.MethodNotAllowed.code,
    406: failures.VersionNotSupported.code,
}
