"""The operations of the service, collected from its controllers."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from ironic_traits.api.resource import METHODS, Resource
from ironic_traits.api.routes import Route
from ironic_traits.api.v1.root import RootController

_Route = TypeVar('_Route', bound=Route)


@dataclasses.dataclass(frozen=True)
class Operation(Generic[_Route]):
    """A method of a path.

    :ivar path: path with placeholders, as /v1/nodes/{node_ident}.
    :ivar route: the route, which may be that of several paths.
    """

    method: str
    path: str
    route: _Route

    def __str__(self) -> str:
        return f'{self.method} {self.path}'


def operations() -> list[Operation]:
    """Return all operations."""
    return list(_walk(RootController(), '', []))


def _walk(resource: Resource, path: str, placeholders: list[str]) -> Iterator[Operation]:
    for method, names in METHODS.items():
        for name in names:
            exposed: Any = getattr(resource, name, None)
            for count in exposed.route.path_lengths if exposed else ():
                own = ''.join(f'/{{{each}}}' for each in exposed.route.path_names[len(placeholders) : count])
                if count >= len(placeholders):
                    yield Operation(method, (path + own) or '/', exposed.route)
    for segment, child in resource.children.items():
        yield from _walk(child, f'{path}/{segment}', placeholders)
    for segment, member in resource.members.items():
        ident = _ident(member, len(placeholders))
        yield from _walk(member, f'{path}/{{{ident}}}/{segment}', [*placeholders, ident])


def _ident(resource: Resource, position: int) -> str:
    """Return the name of a path parameter of the routes of a resource, or of a child if it has none."""
    for name in itertools.chain.from_iterable(METHODS.values()):
        if hasattr(resource, name):
            return getattr(resource, name).route.path_names[position]
    return _ident(next(iter(resource.children.values())), position)
