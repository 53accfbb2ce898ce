"""The decorator that makes a method a route: typed arguments in, an answer or a failure out.

WSME types what comes in (``wsme.rest.args`` for the query, ``wsme.rest.json.fromjson`` for the body).  Its own
``wsexpose`` is not used: it turns an unexpected exception into a 500 with its text, leaves bad bodies to raise what
they like, and cannot take an argument with a dash in its name.
"""

import functools
import inspect
import logging
from typing import Any

import orjson
import pecan
import wsme.exc
import wsme.types
from wsme.api import FunctionArgument, FunctionDefinition
from wsme.rest import json as wsme_json

from ironic_traits import failures
from ironic_traits.api import rendering

LOG = logging.getLogger(__name__)

#: Where the door (``api.door``) leaves the context of a request.
CONTEXT = 'ironic_traits.context'
_FORM_TYPES = ('application/x-www-form-urlencoded', 'multipart/form-data')


class Answer:
    """What a method returns when a body alone does not say it.

    :param body: a JSON document; None for no body.
    :param status: the HTTP status.
    :param location: path of what was made, below the host.
    """

    def __init__(self, body=None, status=200, location=None):
        self.body = body
        self.status = status
        self.location = location


def expose(returns=None, *, query=None, body=None, optional_body=False):
    """Make a method a route.

    The method gets the request's context, then the rest of the path, then the query arguments that were given, by name
    with underscores for dashes, then ``body`` if the route takes one.

    :param returns: WSME type of the answer: documentation, checked in the tests.
    :param query: {name: WSME type} of the query arguments.
    :param body: WSME type of the body.
    :param optional_body: no body is allowed, too: ``body`` is None then.
    """

    def decorate(method):
        definition = _definition(method, returns, query or {}, body)
        in_path = _path_parameters(method)

        @functools.wraps(method)
        def route(self, *path):
            context = pecan.request.environ[CONTEXT]
            try:
                arguments = _query(definition)
                if body is not None:
                    arguments['body'] = _body(context, definition.body_type, optional_body)
                else:
                    _refuse_body(context)
                answer = method(self, context, *path, **arguments)
            except Exception as error:
                return _fail(error)
            return _answer(context, answer)

        exposed: Any = route
        # pecan asks for the signature, to know how much of the path the method takes.
        exposed.__signature__ = inspect.Signature([_SELF, *in_path])
        pecan.expose(template='wsmejson:', content_type=rendering.CONTENT_TYPE)(exposed)
        pecan.util._cfg(exposed)['argspec'] = inspect.getfullargspec(exposed)
        required = sum(parameter.default is parameter.empty for parameter in in_path)
        exposed.path_parameters = range(required, len(in_path) + 1)
        exposed.definition = definition
        return exposed

    return decorate


_SELF = inspect.Parameter('self', inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _path_parameters(method):
    """Give the parameters that stand in the path: the positional-only ones after self and context."""
    parameters = list(inspect.signature(method).parameters.values())[2:]
    return [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in parameters if p.kind is p.POSITIONAL_ONLY]


def _definition(method, returns, query, body):
    definition = FunctionDefinition(method)
    definition.return_type = returns
    definition.set_options(body=body, rest_content_types=('json',))
    definition.arguments = [FunctionArgument(name, datatype, False, None) for name, datatype in query.items()]
    definition.resolve_types(wsme.types.registry)
    return definition


def _query(definition):
    arguments = {argument.name: argument.datatype for argument in definition.arguments}
    unknown = sorted(set(pecan.request.GET) - set(arguments))
    if unknown:
        raise failures.UnexpectedArguments(names=', '.join(unknown))
    return {
        name.replace('-', '_'): _argument(name, datatype)
        for name, datatype in arguments.items()
        if name in pecan.request.GET
    }


def _argument(name, datatype):
    values = pecan.request.GET.getall(name)
    if not wsme.types.isarray(datatype):
        if len(values) > 1:
            raise failures.InvalidInput(reason=f'Parameter {name} was given several times')
        values = values[0]
    try:
        return wsme.types.validate_value(datatype, values)
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f'Invalid {name}: {error}') from error
    except wsme.exc.InvalidInput as error:
        raise failures.InvalidInput(reason=f'Invalid {name}: {error.msg}') from error


def _body(context, datatype, optional):
    raw = _read(context)
    if not raw.strip():
        if optional:
            return None
        raise failures.InvalidInput(reason='The request needs a body: a JSON document.')
    if pecan.request.content_type in _FORM_TYPES:
        raise failures.InvalidInput(
            reason=f'The body came as {pecan.request.content_type}: send it with "Content-Type: application/json".'
        )
    document = parse(raw)
    if document is None and optional:
        return None
    return typed(datatype, document)


def _refuse_body(context):
    raw = _read(context)
    # An empty object is what some clients send where nothing is wanted.
    if raw.strip() not in (b'', b'{}', b'null'):
        raise failures.InvalidInput(reason='The request takes no body.')


def _read(context):
    """Read the body, never more than is allowed."""
    limit = context.conf.api.max_request_body_size
    if (pecan.request.content_length or 0) > limit:
        raise failures.BodyTooLarge(limit=limit)
    if not pecan.request.is_body_readable:
        return b''
    raw = pecan.request.body_file_raw.read(limit + 1)
    if len(raw) > limit:
        raise failures.BodyTooLarge(limit=limit)
    return raw


def parse(raw):
    """Parse a JSON document.

    orjson refuses what no database keeps or no answer could carry again: NaN, lone surrogates, bottomless nesting.

    :param raw: bytes.
    :raises failures.InvalidInput: it is no JSON, or has a NUL character in it.
    """
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise failures.InvalidInput(reason=f'The body is not valid JSON: {error}.') from error
    if b'\\u0000' in raw and _has_nul(document):
        raise failures.InvalidInput(reason='The body has a NUL character (\\u0000) in it: no text may contain one.')
    return document


def _has_nul(document):
    if isinstance(document, dict):
        return any('\0' in key or _has_nul(value) for key, value in document.items())
    if isinstance(document, list):
        return any(map(_has_nul, document))
    return isinstance(document, str) and '\0' in document


def typed(datatype, document):
    """Turn a JSON document into what a route takes.

    :param datatype: WSME type.
    :returns: an object of it.
    :raises failures.InvalidInput: the document is not of the type.
    :raises wsme.exc.ClientSideError: the same, found by WSME.
    """
    if wsme.types.isarray(datatype):
        if not isinstance(document, list):
            raise failures.InvalidInput(reason=f'A JSON array is expected, not {_kind(document)}.')
        return [typed(datatype.item_type, item) for item in document]
    if wsme.types.iscomplex(datatype) and not isinstance(document, dict):
        raise failures.InvalidInput(reason=f'A JSON object is expected, not {_kind(document)}.')
    try:
        return wsme_json.fromjson(datatype, document)
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f'The body is not what it must be: {error}') from error


def _kind(document):
    names = {dict: 'an object', list: 'an array', str: 'a string', bool: 'a boolean', type(None): 'null'}
    return names.get(type(document), 'a number')


def _answer(context, answer):
    if not isinstance(answer, Answer):
        answer = Answer(answer)
    response = pecan.response
    response.status = answer.status
    if answer.location:
        response.headers['Location'] = context.url(answer.location)
    if answer.body is None:
        return _bytes(b'', None)
    return {'result': answer.body}


def _fail(error):
    known = failures.known(error)
    if known.status >= 500:
        LOG.exception('%s %s failed', pecan.request.method, pecan.request.path)
    pecan.response.status = known.status
    if known.status == 405:
        # At the version asked for, no method is served there.
        pecan.response.headers['Allow'] = ''
    return _bytes(rendering.failure(known), rendering.CONTENT_TYPE)


def _bytes(body, content_type):
    """Answer with bytes that are made already: pecan leaves a response alone that is given back to it."""
    pecan.response.body = body
    pecan.response.content_type = content_type
    return pecan.response
