"""The hook and the request class that pecan is configured with."""

import logging

import pecan
from pecan.hooks import PecanHook
from webob import acceptparse

from ironic_traits import failures
from ironic_traits.api.expose import CONTEXT
from ironic_traits.db import outage

LOG = logging.getLogger(__name__)


class FailureHook(PecanHook):
    """A hook that renders failures of the router (404, 405, 406). A bug in the router becomes a plain 500."""

    def on_error(self, state, error):
        failure = failures.from_exception(error)
        if failure.status >= 500 and not outage.is_one(error):
            LOG.error('%s %s failed', state.request.method, state.request.path, exc_info=error)
        protocol = state.request.environ[CONTEXT].protocol
        body, content_type = protocol.failure(failure, state.request.environ)
        response = pecan.Response(status=failure.status, body=body, content_type=content_type)
        if failure.allow is not None:
            response.headers['Allow'] = failure.allow
        return response


class Request(pecan.Request):
    """A request whose body and Accept header pecan does not read. The routes read them."""

    accept = acceptparse.AcceptNoHeader()

    @property
    def params(self):
        return self.GET

    @property
    def json(self):
        raise ValueError
