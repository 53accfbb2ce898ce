"""What pecan calls around each request."""

import http
import logging

import pecan
from pecan.hooks import PecanHook
from webob import exc

from ironic_traits import failures
from ironic_traits.api import rendering

LOG = logging.getLogger(__name__)


class FailureHook(PecanHook):
    """Gives failures that the router finds (404, 405, 406) the Bare Metal body; a defect there becomes a plain 500."""

    def on_error(self, state, error):
        if isinstance(error, exc.HTTPException):
            status = http.HTTPStatus(error.status_int)
            body = rendering.routing_failure(
                status.value, status.phrase, _ROUTING.get(status.value, error.detail or '')
            )
            response = pecan.Response(status=status.value)
            if getattr(error, 'allow', None):
                response.allow = error.allow
        else:
            LOG.error('%s %s failed', state.request.method, state.request.path, exc_info=error)
            failure = failures.known(error)
            body = rendering.failure(failure)
            response = pecan.Response(status=failure.status)
        response.body = body
        response.content_type = rendering.CONTENT_TYPE
        return response


_ROUTING = {
    404: 'Nothing is served at this address.',
    405: 'This method is not served at this address.',
    406: 'Answers are application/json: the Accept header allows no such answer.',
}


class Request(pecan.Request):
    """A request whose body pecan leaves alone: routes read it, once, as far as they want it (``api.expose``)."""

    @property
    def params(self):
        return self.GET

    @property
    def json(self):
        raise ValueError
