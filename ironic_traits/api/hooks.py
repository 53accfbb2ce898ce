"""What pecan calls around each request."""

import logging

import pecan
from pecan.hooks import PecanHook
from webob import acceptparse

from ironic_traits import failures
from ironic_traits.api.expose import CONTEXT
from ironic_traits.db import outage

LOG = logging.getLogger(__name__)


class FailureHook(PecanHook):
    """Gives failures that the router finds (404, 405, 406) their body; a defect there becomes a plain 500."""

    def on_error(self, state, error):
        known = failures.from_exception(error)
        if known.status >= 500 and not outage.is_one(error):
            LOG.error('%s %s failed', state.request.method, state.request.path, exc_info=error)
        protocol = state.request.environ[CONTEXT].protocol
        body, content_type = protocol.failure(known, state.request.environ)
        response = pecan.Response(status=known.status, body=body, content_type=content_type)
        if known.allow is not None:
            response.headers['Allow'] = known.allow
        return response


class Request(pecan.Request):
    """A request whose body and Accept header pecan leaves alone: routes read them, as far as they want them."""

    accept = acceptparse.AcceptNoHeader()

    @property
    def params(self):
        return self.GET

    @property
    def json(self):
        raise ValueError
