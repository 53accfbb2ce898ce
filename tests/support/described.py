"""The comparison of responses with the description of the API (``ironic_traits.api.description``)."""

import functools
import json

import jsonschema
from webob import Request

from ironic_traits.api.description.documents import document
from ironic_traits.api.resource import CONTEXT, ROUTE

#: Statuses for which the description does not describe the body.
_WITHOUT_SCHEMA = (304, 401)


class Described:
    """A WSGI layer that compares each response with the description of the API at its version.

    :param app: WSGI application, whose paths of the Placement API begin with /placement.
    :ivar problems: [sentence, …] about responses that the description does not allow.
    :ivar compared: set of (method, path of the route, status) of the compared responses.
    """

    def __init__(self, app):
        self._app = app
        self.problems = []
        self.compared = set()

    def __getattr__(self, name):
        return getattr(self._app, name)

    def __call__(self, environ, start_response):
        request = Request(environ)
        response = request.get_response(self._app)
        if environ['REQUEST_METHOD'] not in ('HEAD', 'OPTIONS'):
            self._compare(environ, response)
        return response(environ, start_response)

    def _compare(self, environ, response):
        context, method, status = environ[CONTEXT], environ['REQUEST_METHOD'], response.status_int
        described = operation(context.protocol.name, context.minor, method, environ.get(ROUTE))
        self.compared.add((method, environ.get(ROUTE), status))
        problem = _problem(context, described, response)
        if problem:
            url = Request(environ).path_qs
            self.problems.append(f'{method} {url} at 1.{context.minor}: {status}, {problem}')


def _problem(context, described, response):
    """Return the problem of a response; None if it has none.

    :param described: the operation in the description; None if the request matches none.
    """
    status = response.status_int
    if described is None and status < 400:
        return 'and there is no such operation'
    if described is not None and str(status) not in described['responses']:
        return f'which is none of {", ".join(described["responses"])}'
    if status in _WITHOUT_SCHEMA:
        return None
    contents = _contents(context, described, status)
    if not contents:
        return 'with a body' if response.body else None
    if response.content_type not in contents:
        return f'as {response.content_type}'
    if response.content_type != 'application/json':
        return None
    validator = _validator(context.protocol.name, context.minor, json.dumps(contents['application/json']['schema']))
    error = jsonschema.exceptions.best_match(validator.iter_errors(response.json))
    return error and f'{error.json_path}: {error.message[:500]}'


def _contents(context, described, status):
    """Return the described content of a response: {content type: {'schema': …}}."""
    described = described['responses'][str(status)] if described else {'$ref': '#/components/responses/Failure'}
    if '$ref' in described:
        described = description(context.protocol.name, context.minor)['components']['responses']['Failure']
    return described.get('content')


def operation(api, minor, method, path):
    """Return the description of an operation; None if the API does not have it at this version."""
    return description(api, minor)['paths'].get(path, {}).get(method.lower())


@functools.cache
def description(api, minor):
    """Return the description of an API at a version."""
    return document(api, minor, 'noauth')


@functools.cache
def _validator(api, minor, schema):
    components = {'components': {'schemas': description(api, minor)['components']['schemas']}}
    return jsonschema.Draft202012Validator(json.loads(schema) | components)
