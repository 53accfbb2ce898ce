"""A sequential model of a few nodes: which answers each call may get, and what it changes.

Each operation is a function of a World and of what the call names. It yields the possible pairs (answer, World after
the call). An answer is what ``order_calls`` reads from the response.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.support.linearizability import Call

#: The uuid of a reservation whose client got no answer.
UNKNOWN = '?'
OPERATOR = 'operator'
TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')


class Node(NamedTuple):
    """What the model knows of a node.

    :ivar holds: {(trait, source)}.
    :ivar reservation: (uuid of the instance, uuid of the reservation), or None.
    :ivar instance: its ``instance_uuid``. ``is_allocation``: whether that is an allocation of Ironic's kind.
    :ivar consumer: the consumer in Placement to whom it is allocated.
    :ivar generation: that of its provider when it was last read, and whether the provider has changed since.
    """

    holds: frozenset[tuple[str, str]] = frozenset()
    vetoes: frozenset[str] = frozenset()
    reservation: tuple[str, str] | None = None
    instance: str | None = None
    is_allocation: bool = False
    consumer: str | None = None
    maintenance: bool = False
    generation: int = -1
    is_changed: bool = True

    @property
    def traits(self) -> tuple[str, ...]:
        return tuple(sorted({trait for trait, _ in self.holds}))

    def is_free(self, instance: str | None = None) -> bool:
        """Whether it can be reserved for an instance."""
        is_held = self.reservation or self.instance or self.maintenance
        return not is_held and self.consumer in (None, instance)


class World(NamedTuple):
    """Some nodes.

    :ivar failed: uuids of the allocations in the state "error".
    """

    nodes: tuple[Node, ...]
    failed: frozenset[str] = frozenset()

    def change(self, number: int, **values: Any) -> 'World':
        """Return the World with other values of a node."""
        node = self.nodes[number]
        changed = node._replace(**values)
        if _provided(changed) != _provided(node):
            changed = changed._replace(is_changed=True)
        return self._replace(nodes=(*self.nodes[:number], changed, *self.nodes[number + 1 :]))

    def end(self, uuid: str) -> 'World | None':
        """Return the World without a reservation; None if there is none."""
        for number, node in enumerate(self.nodes):
            if node.reservation and node.reservation[1] == uuid:
                return self.change(number, reservation=None)
        return None

    def where(self, **values: Any) -> list[int]:
        """Return the numbers of the nodes with these values."""
        return [
            number
            for number, node in enumerate(self.nodes)
            if all(getattr(node, name) == value for name, value in values.items())
        ]

    def reserved(self, instance: str) -> int | None:
        """Return the number of the node that is reserved for an instance; None if there is none."""
        found = [number for number, node in enumerate(self.nodes) if (node.reservation or ('',))[0] == instance]
        return found[0] if found else None


def _provided(node: Node) -> tuple[Any, ...]:
    """Return what Placement shows of a node: if it changes, the generation of the provider rises.

    A reservation and an allocation of its instance use the same unit.
    """
    return node.traits, bool(node.reservation or node.consumer), bool(node.instance or node.maintenance)


Outcomes = Iterator[tuple[Any, World]]


def put_traits(world: World, node: int, source: str | None, traits: tuple[str, ...]) -> Outcomes:
    """PUT of all traits, plain or of a source."""
    before = world.nodes[node]
    present = {trait for trait, holder in before.holds if source in (None, holder)}
    after = _removed(before, present - set(traits), source)
    after = _added(after, set(traits) - (after.vetoes if source else set()), source)
    yield (200, after.traits), world.change(node, holds=after.holds, vetoes=after.vetoes)


def add_trait(world: World, node: int, source: str | None, trait: str) -> Outcomes:
    """PUT of a trait."""
    if source and trait in world.nodes[node].vetoes:
        yield (409,), world
    else:
        after = _added(world.nodes[node], {trait}, source)
        yield (204,), world.change(node, holds=after.holds, vetoes=after.vetoes)


def remove_trait(world: World, node: int, source: str | None, trait: str) -> Outcomes:
    """DELETE of a trait."""
    holders = {holder for name, holder in world.nodes[node].holds if name == trait}
    if not holders or (source and source not in holders):
        yield (404,), world
    else:
        after = _removed(world.nodes[node], {trait}, source)
        yield (204,), world.change(node, holds=after.holds, vetoes=after.vetoes)


def edit_traits(world: World, nodes: tuple[int, ...], add: str, remove: str) -> Outcomes:
    """Bulk edit of several nodes, after a preview. It is refused if the nodes have changed since the preview."""
    after = world
    for number in nodes:
        node = _added(_removed(after.nodes[number], {remove}, None), {add}, None)
        after = after.change(number, holds=node.holds, vetoes=node.vetoes)
    yield (200,), after
    yield (409,), world


def _removed(node: Node, traits: Iterable[str], source: str | None) -> Node:
    """Return a node without traits. A plain removal of what another source holds leaves a veto."""
    gone = {(trait, holder) for trait, holder in node.holds if trait in traits and source in (None, holder)}
    vetoes = {trait for trait, holder in gone if source is None and holder != OPERATOR}
    return node._replace(holds=node.holds - gone, vetoes=node.vetoes | vetoes)


def _added(node: Node, traits: Iterable[str], source: str | None) -> Node:
    """Return a node with more traits. Their vetoes are lifted."""
    new = {(trait, source or OPERATOR) for trait in traits}
    return node._replace(holds=node.holds | new, vetoes=node.vetoes - set(traits))


def reserve(
    world: World, instance: str, nodes: tuple[int, ...] | None, expires: float | None, uuid: str = UNKNOWN
) -> Outcomes:
    """POST of a reservation: of a free node of a list, or of any free node."""
    held, numbers = world.reserved(instance), nodes or range(len(world.nodes))
    if expires:
        # The request may arrive after the end of the reservation.
        yield (400,), world
    if world.where(instance=instance):
        yield (409,), world
        return
    if held is not None:
        yield ((200, held), world.change(held, reservation=(instance, uuid))) if held in numbers else ((409,), world)
        return
    free = [number for number in numbers if world.nodes[number].is_free(instance)]
    if not free:
        yield (409,), world
    # Which one is preferred depends on the moment of the search, which may be before that of the reservation.
    for number in free:
        yield (201, number), world.change(number, reservation=(instance, uuid))


def reserve_two(world: World, instances: tuple[str, str], uuids: tuple[str, str] = (UNKNOWN, UNKNOWN)) -> Outcomes:
    """POST of reservations of any nodes for two instances: all or none."""
    held = {instance: world.reserved(instance) for instance in instances}
    if any(world.where(instance=instance) for instance in instances):
        yield (409,), world
        return
    rest = [instance for instance, number in held.items() if number is None]
    choices = [
        held | dict(zip(rest, numbers, strict=True))
        for numbers in itertools.permutations(range(len(world.nodes)), len(rest))
        if all(world.nodes[number].is_free(rest[0] if len(rest) == 1 else None) for number in numbers)
    ]
    for choice in choices:
        after = world
        for instance, uuid in zip(instances, uuids, strict=True):
            after = after.change(choice[instance], reservation=(instance, uuid))
        yield (201 if rest else 200, *choice.values()), after
    if not choices:
        yield (409,), world


def release(world: World, uuid: str) -> Outcomes:
    """DELETE of a reservation."""
    after = world.end(uuid)
    yield ((204,), after) if after else ((404,), world)


def expire(world: World, uuid: str) -> Outcomes:
    """Do what the clock does when a reservation expires."""
    yield (), world.end(uuid) or world


def allocate(world: World, instance: str, nodes: tuple[int, ...]) -> Outcomes:
    """POST of an allocation with candidates."""
    if instance in world.failed or world.where(instance=instance, is_allocation=True):
        yield (409,), world
        return
    free = [number for number in nodes if world.nodes[number].is_free(instance)]
    elsewhere = world.reserved(instance) is not None or bool(world.where(instance=instance))
    if not free or elsewhere:
        yield (201, 'error', None), world._replace(failed=world.failed | {instance})
    else:
        for number in free:
            yield (201, 'active', number), world.change(number, instance=instance, is_allocation=True)


def deallocate(world: World, instance: str) -> Outcomes:
    """DELETE of an allocation."""
    found = world.where(instance=instance, is_allocation=True)
    if instance in world.failed:
        yield (204,), world._replace(failed=world.failed - {instance})
    elif found:
        yield (204,), world.change(found[0], instance=None, is_allocation=False)
    else:
        yield (404,), world


def set_instance(world: World, node: int, instance: str) -> Outcomes:
    """PATCH that sets ``instance_uuid``."""
    before = world.nodes[node]
    is_elsewhere = set(world.where(instance=instance)) - {node} or world.reserved(instance) not in (None, node)
    is_others = before.instance or (before.reservation or (instance,))[0] != instance
    if before.instance == instance:
        yield (200,), world
    elif is_elsewhere or is_others or before.consumer not in (None, instance):
        yield (409,), world
    else:
        yield (200,), world.change(node, instance=instance)


def clear_instance(world: World, node: int) -> Outcomes:
    """PATCH that removes ``instance_uuid``."""
    yield (200,), world.change(node, instance=None, is_allocation=False)


def claim(world: World, demands: tuple[tuple[str, int], ...]) -> Outcomes:
    """PUT or POST of allocations in Placement, by new consumers: all or none."""
    after = world
    for consumer, number in demands:
        node = after.nodes[number]
        is_new = not after.where(consumer=consumer)
        # An instance may allocate the node that it is on, also in maintenance.
        is_usable = node.instance == consumer or not (node.instance or node.maintenance)
        is_own = (node.reservation or (consumer,))[0] == consumer
        if not (is_new and node.consumer is None and is_usable and is_own):
            yield (409,), world
            return
        after = after.change(number, consumer=consumer)
    yield (204,), after


def unclaim(world: World, consumer: str) -> Outcomes:
    """DELETE of the allocations of a consumer."""
    found = world.where(consumer=consumer)
    yield ((204,), world.change(found[0], consumer=None)) if found else ((404,), world)


def maintain(world: World, node: int, is_on: bool) -> Outcomes:
    """PUT or DELETE of maintenance."""
    yield (202,), world.change(node, maintenance=is_on)


def read_node(world: World, node: int) -> Outcomes:
    """GET of a node."""
    yield (200, _shown(world.nodes[node])), world


def read_nodes(world: World) -> Outcomes:
    """GET of all nodes, at one moment."""
    yield (200, tuple(map(_shown, world.nodes))), world


def _shown(node: Node) -> tuple[Any, ...]:
    return node.traits, node.instance, bool(node.reservation), node.maintenance


def read_traits(world: World, node: int) -> Outcomes:
    """GET of the traits of a node."""
    yield (200, world.nodes[node].traits), world


def read_provider(world: World, node: int, generation: int) -> Outcomes:
    """GET of the traits of a provider, with its generation, which rises with each change."""
    before = world.nodes[node]
    if generation >= before.generation + before.is_changed:
        after = before._replace(generation=generation, is_changed=False)
        yield (200, before.traits), world._replace(nodes=(*world.nodes[:node], after, *world.nodes[node + 1 :]))


def read_consumers(world: World, node: int) -> Outcomes:
    """GET of the allocations of a provider."""
    consumer = world.nodes[node].consumer
    yield (200, (consumer,) if consumer else ()), world


def find_nodes(world: World, trait: str) -> Outcomes:
    """GET of the nodes with a trait."""
    yield (200, tuple(number for number, node in enumerate(world.nodes) if trait in node.traits)), world


def find_free(world: World, trait: str, way: str) -> Outcomes:
    """Matches, and candidates in Placement: the free nodes with a trait."""
    yield (200, tuple(_free_with(world, trait))), world


def count_free(world: World) -> Outcomes:
    """Capacity: the number of free nodes with each trait, at one moment."""
    yield (200, *(len(_free_with(world, trait)) for trait in TRAITS)), world


def _free_with(world: World, trait: str) -> list[int]:
    return [number for number, node in enumerate(world.nodes) if node.is_free() and trait in node.traits]


def read_reservations(world: World) -> Outcomes:
    """GET of all reservations: the instance of each node."""
    yield (200, tuple((node.reservation or (None,))[0] for node in world.nodes)), world


def after(world: World, call: Call) -> Iterator[World]:
    """Yield the possible Worlds after a call: the model for ``linearizability``."""
    for answer, changed in globals()[call.kind](world, **call.values):
        if call.answer in (None, answer):
            yield changed
