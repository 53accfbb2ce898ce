"""The decorator that makes a method a route: typed arguments in, an answer or a failure out.

Of the Bare Metal API; ``api.placement.expose`` has the Placement API's, which stands on the same ``route``.

WSME types what comes in: query arguments here, bodies in ``api.body``.  Its own ``wsexpose`` is not used: it turns an
unexpected exception into a 500 with its text, lets bad bodies raise what they like, and cannot take an argument with a
dash in its name.
"""

import functools
import inspect
import logging
from typing import Any

import pecan
import wsme.exc
import wsme.types
from webob import acceptparse
from wsme.api import FunctionArgument, FunctionDefinition

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import rendering
from ironic_traits.api.resource import SUFFIXED
from ironic_traits.db import outage

LOG = logging.getLogger(__name__)

#: Failures that say that the name at the end of a path is nothing's.
_UNNAMED = (failures.NodeNotFound, failures.RecordNotFound, failures.VifNotAttached)
#: Where the door (``api.middleware``) leaves the context of a request.
CONTEXT = 'ironic_traits.context'


class Answer:
    """What a method returns when a body alone does not say it.

    :param body: a JSON document; None for no body.
    :param status: the HTTP status.
    :param location: path of what was made, below the host.
    :param headers: more of them, {name: value}.
    """

    def __init__(self, body=None, status=200, location=None, headers=None):
        self.body = body
        self.status = status
        self.location = location
        self.headers = headers or {}


def expose(returns=None, *, query=None, body=None, optional_body=False):
    """Make a method a route of the Bare Metal API.

    The method gets the request's context, then the rest of the path, then the query arguments that were given, by name
    with underscores for dashes, then ``body`` if the route takes one.

    :param returns: WSME type of the answer: documentation, checked in the tests.
    :param query: {name: WSME type} of the query arguments.
    :param body: WSME type of the body.
    :param optional_body: no body is allowed, too: ``body`` is None then.
    """

    def decorate(method):
        definition = _definition(method, returns, query or {}, body)

        def answer(self, context, path):
            if not accepts_json():
                raise failures.NotAcceptable
            arguments = _query(definition)
            if body is not None:
                arguments['body'] = request_body.read(context, definition.body_type, optional_body)
            else:
                request_body.refuse(context)
            try:
                return method(self, context, *path, **arguments)
            except _UNNAMED:
                if SUFFIXED not in pecan.request.environ:
                    raise
                return method(self, context, *path[:-1], path[-1].rpartition('.')[0], **arguments)

        exposed = route(method, answer)
        exposed.definition = definition
        return exposed

    return decorate


def route(method, answer):
    """Make what pecan calls for a method: it answers, also when that fails.

    :param method: its positional-only parameters after self and context stand in the path.
    :param answer: function of the controller, the context and the path's parameters that gives an Answer, or its body.
    """
    in_path = _path_parameters(method)

    @functools.wraps(method)
    def called(self, *path):
        context = pecan.request.environ[CONTEXT]
        try:
            answered = answer(self, context, path)
        except Exception as error:
            return _fail(context, error)
        return _answer(context, answered)

    exposed: Any = called
    # pecan asks for the signature, to know how much of the path the method takes.
    exposed.__signature__ = inspect.Signature([_SELF, *in_path])
    pecan.expose(template='wsmejson:', content_type=rendering.CONTENT_TYPE)(exposed)
    pecan.util._cfg(exposed)['argspec'] = inspect.getfullargspec(exposed)
    required = sum(parameter.default is parameter.empty for parameter in in_path)
    exposed.path_names = [parameter.name for parameter in in_path]
    exposed.path_parameters = range(required, len(in_path) + 1)
    return exposed


def accepts_json():
    """Tell whether the client takes a JSON document as an answer."""
    accept = acceptparse.create_accept_header(pecan.request.environ.get('HTTP_ACCEPT'))
    return not accept or bool(accept.acceptable_offers([rendering.CONTENT_TYPE]))


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


def _answer(context, answer):
    if not isinstance(answer, Answer):
        answer = Answer(answer)
    response = pecan.response
    response.status = answer.status
    if answer.location:
        response.headers['Location'] = context.url(answer.location)
    response.headers.update(answer.headers)
    if answer.body is None:
        return _bytes(b'', None)
    return {'result': answer.body}


def _fail(context, error):
    known = failures.from_exception(error)
    if known.status >= 500 and not outage.is_one(error):
        LOG.exception('%s %s failed', pecan.request.method, pecan.request.path)
    pecan.response.status = known.status
    if known.allow is not None:
        pecan.response.headers['Allow'] = known.allow
    return _bytes(*context.protocol.failure(known, pecan.request.environ))


def _bytes(body, content_type):
    """Answer with bytes that are made already: pecan leaves a response alone that is given back to it."""
    pecan.response.body = body
    pecan.response.content_type = content_type
    return pecan.response
