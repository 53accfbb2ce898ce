"""Capacity: how many nodes match each flavor, and how many of these are free, held, or not available.

All figures are of one moment, and exact. They are computed from the index of nodes (``inventory.search.node_index``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core import mirror_exclusions
from ironic_traits.inventory.search import related_nodes
from ironic_traits.inventory.search.index_nodes import Figures, Nodes, ValueGroup
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.what_if import NOTHING, WhatIf
from ironic_traits.matching.group_choice import Situation

#: Columns by which the figures can be grouped, besides traits with a prefix.
COLUMNS = ('resource_class', 'owner', 'shard')
#: Maximum number of flavors times groups in one response.
MAX_GROUPS = 20_000


class Flavor(NamedTuple):
    """A flavor whose capacity is counted.

    :ivar node_request: without ``idents``.
    :ivar block: number of nodes in a block, for a flavor with a topology.
    """

    name: str
    node_request: NodeRequest
    block: int = 1


class Blocks(NamedTuple):
    """The free nodes of a flavor with a topology.

    :ivar number: how many blocks of nodes can be held at once. Each fulfils the topology.
    :ivar largest: the most nodes that can be held by one request.
    """

    number: int
    largest: int


class Result(NamedTuple):
    """The capacity for flavors.

    :ivar flavors: [Capacity, …], in the order of the flavors.
    :ivar vetoed: for each change of the what-if, {trait: number of nodes that would get it but on which it is vetoed}.
    """

    flavors: 'list[Capacity]'
    vetoed: list[dict[str, int]]


class Group(NamedTuple):
    """The figures of the nodes with the same value.

    :ivar value: resource class, owner, shard or trait; None for the nodes without a value.
    :ivar now: Figures.
    :ivar then: Figures with what is supposed to be different; None if nothing is.
    """

    value: str | None
    now: Figures
    then: Figures | None


class Capacity(NamedTuple):
    """The capacity for a flavor.

    :ivar now: Figures.
    :ivar then: Figures with what is supposed to be different; None if nothing is.
    :ivar groups: {what the figures are broken down by: [Group with matching nodes, …]}, sorted, None first.
    :ivar blocks: Blocks; None for a flavor without a topology.
    """

    name: str
    now: Figures
    then: Figures | None
    groups: dict[str, list[Group]]
    blocks: Blocks | None


def count(
    context: Context, grant: Grant, flavors: Sequence[Flavor], what_if: WhatIf = NOTHING, by: Sequence[str] = ()
) -> Result:
    """Return the capacity for each flavor, of the nodes that the caller may see.

    :param by: of COLUMNS, or TRAIT_PREFIX and the beginning of traits.
    :raises failures.NodeNotFound: ``what_if`` names a node that does not exist, or that the caller may not see.
    :raises failures.InvalidInput: there are too many groups for so many flavors.
    :raises failures.InvalidTrait: ``what_if`` removes a name that is not a trait.
    :raises failures.EditExceedsLimit: nodes would have more than ``[inventory] max_traits_per_node`` traits.
    """
    excluded = mirror_exclusions.condition(context)
    related = [_related(context, flavor) for flavor in flavors]
    with context.service.node_index.now(context) as view:
        now = Nodes(context, grant, view, excluded)
        then = now.supposed(what_if) if what_if.without or what_if.changes else None
        groups = {each: list(now.groups(each, then)) for each in by}
        if len(flavors) * sum(map(len, groups.values())) > MAX_GROUPS:
            raise failures.InvalidInput(
                reason=f"'by' makes {sum(map(len, groups.values()))} groups, too many for {len(flavors)} flavors: at "
                f'most {MAX_GROUPS} figures are computed for one request. Send fewer flavors.'
            )
        counted = [
            _of_flavor(flavor, now, then, groups)._replace(blocks=_blocks(now, flavor, numbers))
            for flavor, numbers in zip(flavors, related, strict=True)
        ]
        return Result(counted, then.vetoed if then else [])


def count_all(service: Any, flavors: Sequence[Flavor]) -> list[Capacity]:
    """Return the capacity for each flavor, of all nodes."""
    with service.node_index.now(service) as view:
        nodes = Nodes(None, Grant(()), view, mirror_exclusions.condition(service))
        return [_of_flavor(flavor, nodes, None, {})._replace(blocks=_blocks(nodes, flavor)) for flavor in flavors]


def _related(context: Context, flavor: Flavor) -> list[Counter[str]]:
    policies = flavor.node_request.topology
    if not policies:
        return []
    with context.read() as connection:
        return related_nodes.read(context, connection, policies).numbers(policies)


def _of_flavor(flavor: Flavor, now: Nodes, then: Nodes | None, groups: Mapping[str, Sequence[ValueGroup]]) -> Capacity:
    before = now.matching(flavor.node_request)
    after = then.matching(flavor.node_request) if then else 0

    def figures(in_group: int, in_group_then: int) -> tuple[Figures, Figures | None]:
        return now.figures(before & in_group), then.figures(after & in_group_then) if then else None

    parts = {
        each: [
            Group(group.value, *figures(group.now, group.then))
            for group in members
            if before & group.now or after & group.then
        ]
        for each, members in groups.items()
    }
    return Capacity(flavor.name, *figures(now.all, then.all if then else 0), parts, None)


def _blocks(nodes: Nodes, flavor: Flavor, related: Sequence[Mapping[str, int]] | None = None) -> Blocks | None:
    """Return the Blocks of a flavor; None if it has no topology.

    :param related: for each policy, {group: number of nodes} of the instances that it refers to; None for no instances.
    """
    policies = flavor.node_request.topology
    if not policies:
        return None
    groups = nodes.view.groups([policy.key for policy in policies])
    numbers = groups.counts(nodes.matching(flavor.node_request) & nodes.free)
    cells = {cell: number for cell, number in zip(groups.cells, numbers, strict=True) if number and None not in cell}
    situation = Situation(policies, cells, related or [{} for _ in policies])
    return Blocks(situation.count_blocks(flavor.block), situation.largest())
