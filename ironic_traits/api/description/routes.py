"""The routes of the service, collected from its controllers."""

import dataclasses
import itertools

from ironic_traits.api.resource import METHODS
from ironic_traits.api.v1.root import RootController


@dataclasses.dataclass(frozen=True)
class Route:
    """A method of a path.

    :ivar path: path with placeholders, as /v1/nodes/{node_ident}.
    :ivar function: the method of the controller.
    """

    method: str
    path: str
    function: object

    def __str__(self):
        return f'{self.method} {self.path}'


def routes():
    """Return all routes, a list."""
    return list(_walk(RootController(), '', []))


def _walk(resource, path, placeholders):
    for method, names in METHODS.items():
        for name in names:
            function = getattr(resource, name, None)
            if function is None:
                continue
            parameters = function.path_names
            for count in function.path_parameters:
                own = ''.join(f'/{{{parameter}}}' for parameter in parameters[len(placeholders) : count])
                if count >= len(placeholders):
                    yield Route(method, (path + own) or '/', function)
    for segment, child in resource.children.items():
        yield from _walk(child, f'{path}/{segment}', placeholders)
    for segment, member in resource.members.items():
        ident = _ident(member, len(placeholders))
        yield from _walk(member, f'{path}/{{{ident}}}/{segment}', [*placeholders, ident])


def _ident(resource, position):
    """Return the name of a path parameter of a resource's routes."""
    names = itertools.chain.from_iterable(METHODS.values())
    function = next(function for name in names if (function := getattr(resource, name, None)))
    return function.path_names[position]
