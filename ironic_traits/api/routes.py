"""What is known of a route, and ``expose``, which makes a method of a controller a route.

Each API has its class of routes, because it checks requests in an order of its own: ``api.expose`` has that of the Bare
Metal API, ``api.placement.expose`` that of the Placement API.
"""

import abc
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ironic_traits.api import exceptions, responses
from ironic_traits.api.responses import Response
from ironic_traits.context import Context

#: Used instead of a policy rule for a route that every client may use.
PUBLIC = 'public'

_Method = TypeVar('_Method', bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True, eq=False)
class Route(abc.ABC):
    """A method of a controller, and what is known of it.

    :ivar method: the method. Its positional-only parameters after self, context and grant are the path parameters.
    :ivar rules: names of the policy rules of which one must allow the request; () for a route that is public.
    :ivar returns: what the successful responses have. It is documentation, which the tests check.
    :ivar since: the minor version that brought the route; 0 for a route that is as old as its API.
    :ivar before: the status at earlier versions: 404, 405 or 406.
    :ivar ident: the name of the path parameter that the method calls ``ident``.
    :ivar query: what describes the query parameters; {} for a route without query parameters.
    :ivar body: what describes the body; None for a route without a body.
    """

    method: Callable[..., Any]
    rules: tuple[str, ...]
    returns: Any = None
    _: dataclasses.KW_ONLY
    since: int = 0
    before: int = 404
    ident: str = 'ident'
    query: dict[Any, Any] = dataclasses.field(default_factory=dict)
    body: Any = None

    @abc.abstractmethod
    def respond(self, controller: Any, context: Context, path: tuple[str, ...]) -> Response:
        """Return the response.

        :param path: the path parameters.
        :raises failures.Failure: the request is refused.
        """

    @functools.cached_property
    def path_names(self) -> tuple[str, ...]:
        """The names of the path parameters."""
        names = (parameter.name for parameter in self._path_parameters())
        return tuple(self.ident if name == 'ident' else name for name in names)

    @functools.cached_property
    def path_lengths(self) -> range:
        """The numbers of path parameters that the route takes: the last ones may be optional."""
        parameters = self._path_parameters()
        return range(sum(each.default is each.empty for each in parameters), len(parameters) + 1)

    def _path_parameters(self) -> list[inspect.Parameter]:
        parameters = [p for p in inspect.signature(self.method).parameters.values() if p.kind is p.POSITIONAL_ONLY]
        return [p for p in parameters if p.name not in ('self', 'context', 'grant')]


def expose(kind: type[Route], rule: str | tuple[str, ...], *facts: Any, **named_facts: Any) -> Any:
    """Return a decorator that makes a method a route. Its attribute ``route`` has what is known of it.

    The result of the method, or its exception, becomes the response.

    :param kind: the class of the route.
    :param rule: name of the policy rule that must allow the request; a tuple of rules of which one must; or PUBLIC.
    :param facts: what else is known of the route: the attributes of its class, from ``returns`` on.
    """
    rules = () if rule == PUBLIC else (rule,) if isinstance(rule, str) else rule

    def decorate(method: _Method) -> _Method:
        route = kind(method, rules, *facts, **named_facts)

        @functools.wraps(method)
        def handler(controller: Any, context: Context, *path: str) -> Any:
            try:
                return responses.render(context, route.respond(controller, context, path))
            except Exception as error:
                return exceptions.answer_to(context.request.environ, error)

        exposed: Any = handler
        exposed.route = route
        return exposed

    return decorate
