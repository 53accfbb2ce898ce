"""The hook and the request class that pecan is configured with."""

import pecan
from pecan.hooks import PecanHook
from webob import acceptparse

from ironic_traits.api import exceptions


class FailureHook(PecanHook):
    """A hook that renders failures of the router (404, 405, 406). A bug in the router becomes a plain 500."""

    def on_error(self, state, error):
        return exceptions.answer_to(state.request.environ, error)


class Request(pecan.Request):
    """A request whose body and Accept header pecan does not read. The routes read them."""

    accept = acceptparse.AcceptNoHeader()

    @property
    def params(self):
        return self.GET

    @property
    def json(self):
        raise ValueError
