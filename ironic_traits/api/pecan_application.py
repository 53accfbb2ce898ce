"""pecan's application, and the hook and the request class that it is configured with."""

from typing import Any

import pecan
from pecan.core import PecanBase
from pecan.hooks import PecanHook
from webob import acceptparse

from ironic_traits.api import exceptions
from ironic_traits.api.resource import CONTEXT


class Application(PecanBase):
    """pecan's application, for a root that finds the route of a request itself (``resource.Resource``).

    pecan would look through the attributes of controllers and the signatures of methods in each request, and would
    choose a renderer by the Accept header. Here a route returns the complete response, and takes the request from its
    context instead of pecan's thread-local.
    """

    def find_controller(self, state: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Return the exposed method for a request, its arguments, and no keyword arguments."""
        context = state.request.environ[CONTEXT]
        context.request = state.request
        method, parameters = self.root.route(state.request)
        return method, (context, *parameters), {}

    def invoke_controller(self, controller: Any, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any) -> None:
        """Call the exposed method for a request."""
        state.response = controller(*args)


class FailureHook(PecanHook):
    """A hook that renders failures of the router (404, 405, 406). A bug in the router becomes a plain 500."""

    def on_error(self, state: Any, error: Exception) -> Any:
        return exceptions.answer_to(state.request.environ, error)


class Request(pecan.Request):
    """A request whose body and Accept header pecan does not read. The routes read them."""

    accept = acceptparse.AcceptNoHeader()

    @property
    def params(self) -> Any:
        return self.GET

    @property
    def json(self) -> Any:
        raise ValueError
