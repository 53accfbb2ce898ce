"""Drift: differences between flavors, images and nodes; and what changes for flavors with other exclusive traits."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.inventory.search.capacity import Flavor
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.matching import bitsets
from ironic_traits.matching.explanations import Explanation
from ironic_traits.matching.requests import Request

#: Maximum number of nodes that are listed.
MAX_NODES = 100


class Drift(NamedTuple):
    """The differences between flavors, images, and the nodes that the caller may see.

    :ivar unsatisfied: flavors that no node matches, free or not: [{'name', 'relaxation': {'drop': [clause, …],
        'nodes': number of nodes} or None}, …].
    :ivar unused_traits: traits of nodes that no flavor and no image names: [{'trait', 'nodes': number of nodes}, …].
    :ivar unreached: number of nodes that no flavor matches.
    :ivar unreached_nodes: the first of these: [{'uuid', 'name'}, …].
    :ivar retired_traits: retired traits that are used: [{'trait', 'nodes': number of nodes, 'flavors': [name, …],
        'images': [name, …]}, …].
    :ivar absent_image_traits: traits that images require and no node has: [{'trait', 'images': [name, …]}, …].
    """

    unsatisfied: list[dict[str, Any]]
    unused_traits: list[dict[str, Any]]
    unreached: int
    unreached_nodes: list[dict[str, Any]]
    retired_traits: list[dict[str, Any]]
    absent_image_traits: list[dict[str, Any]]


def find(context: Context, grant: Grant, flavors: Sequence[Flavor], images: Mapping[str, Request]) -> Drift:
    """Compare flavors and images with the nodes.

    :param images: {name of the image: its requirements}.
    """
    by_flavor = _by_trait((flavor.name, flavor.node_request.request) for flavor in flavors)
    by_image = _by_trait(images.items())
    with context.service.node_index.now(context) as view:
        nodes = Nodes(context, grant, view)
        matching = [nodes.matching(flavor.node_request) for flavor in flavors]
        numbers = {name: (nodes.trait(name) & nodes.all).bit_count() for name in nodes.traits}
        unreached = nodes.considered({})
        for each in matching:
            unreached &= ~each
        names = {*numbers, *by_flavor, *by_image}
        retired = sorted(context.service.noted_traits.retired(context, names))
        return Drift(
            unsatisfied=[
                {'name': flavor.name, 'relaxation': _relaxation(nodes, flavor)}
                for flavor, each in zip(flavors, matching, strict=True)
                if not each
            ],
            unused_traits=[
                {'trait': name, 'nodes': number}
                for name, number in numbers.items()
                if name not in by_flavor and name not in by_image
            ],
            unreached=unreached.bit_count(),
            unreached_nodes=_named(view.connection, view.ids(unreached, MAX_NODES)),
            retired_traits=[
                {
                    'trait': name,
                    'nodes': numbers.get(name, 0),
                    'flavors': by_flavor.get(name, []),
                    'images': by_image.get(name, []),
                }
                for name in retired
                if numbers.get(name) or name in by_flavor or name in by_image
            ],
            absent_image_traits=[
                {'trait': name, 'images': by_image[name]} for name in sorted(by_image) if not numbers.get(name)
            ],
        )


def changed_flavors(
    context: Context, grant: Grant, flavors: Sequence[Flavor], exclusive: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the flavors that would match other nodes.

    :param exclusive: {trait, …} that would be exclusive, and no others.
    :returns: [{'name', 'now': number of nodes that the flavor matches, free or not, 'then': their number then}, …].
    """
    changed = []
    with context.service.node_index.now(context) as view:
        nodes = Nodes(context, grant, view)
        for flavor in flavors:
            request = flavor.node_request.request.without_exclusive(exclusive)
            now, then = (
                nodes.matching(each)
                for each in (flavor.node_request, dataclasses.replace(flavor.node_request, request=request))
            )
            if now != then:
                changed.append({'name': flavor.name, 'now': now.bit_count(), 'then': then.bit_count()})
    return changed


def _by_trait(requests: Iterable[tuple[str, Request]]) -> dict[str, list[str]]:
    """Return {trait: [name of a request that names it, …]}."""
    by_trait: dict[str, list[str]] = {}
    for name, request in requests:
        for trait in request.names:
            by_trait.setdefault(trait, []).append(name)
    return by_trait


def _relaxation(nodes: Nodes, flavor: Flavor) -> dict[str, Any] | None:
    """Return the fewest clauses of a flavor to drop so that a node matches; None if there are no nodes."""
    clauses = dict(nodes.clauses(flavor.node_request))
    failing = bitsets.failing(nodes.considered({}), list(clauses.values()), nodes.view.size)
    return next(iter(Explanation(list(clauses), failing).relaxations()), None)


def _named(connection: sa.Connection, node_ids: Sequence[int]) -> list[dict[str, Any]]:
    columns = tables.nodes.c.uuid, tables.nodes.c.name
    statement = sa.select(*columns).where(tables.nodes.c.id.in_(node_ids)).order_by(tables.nodes.c.id)
    return [{'uuid': row.uuid, 'name': row.name} for row in connection.execute(statement)]
