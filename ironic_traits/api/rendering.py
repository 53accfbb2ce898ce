"""The one place where answers become bytes, failures too."""

import http

import orjson

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


def failure(error, environ):
    """Give the body of a failure in the Bare Metal format: a JSON document in a string, and our code beside it.

    :param error: failures.Failure.
    :param environ: the request's.
    :returns: (bytes, their content type).
    """
    if error.routing:
        # What Ironic finds before a controller is reached has the other shape that its clients read.
        title = http.HTTPStatus(error.status).phrase
        message = {'code': error.status, 'title': title, 'description': str(error)}
    else:
        code = 'Client' if error.status < 500 else 'Server'
        message = {'faultcode': code, 'faultstring': str(error), 'debuginfo': None}
    return dump({'error_message': dump(message).decode(), 'code': error.code, **error.beside}), CONTENT_TYPE
