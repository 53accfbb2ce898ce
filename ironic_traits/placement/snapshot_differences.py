"""What differs between two snapshots, row by row: a wanted one, and the present one of the Placement to be written."""

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ironic_traits.placement.snapshots import Consumer, Provider, Snapshot

#: MySQL stores a ratio as a FLOAT, and shows six digits of it.
_PRECISION = 1e-5


@dataclasses.dataclass(frozen=True)
class Difference:
    """A row that differs.

    :ivar kind: 'resource class', 'trait', 'provider' or 'consumer'.
    :ivar key: uuid, or the name of a resource class or trait.
    :ivar field: name of the field that differs; None if the whole row is missing or superfluous.
    :ivar text: what is present, and what should be, without a subject.
    """

    kind: str
    key: str
    field: str | None
    text: str


@dataclasses.dataclass(frozen=True)
class Scope:
    """What is compared.

    :ivar generations: whether a present generation must not be lower than the wanted one.
    :ivar types: whether consumer types are compared: versions before 1.38 do not show them.
    """

    generations: bool
    types: bool


def compare(wanted: Snapshot, present: Snapshot, scope: Scope) -> Iterator[Difference]:
    """Generate the differences, without names, providers and consumers that exist at present only (``surplus``)."""
    for kind, names, existing in (
        ('resource class', wanted.resource_classes, present.resource_classes),
        ('trait', wanted.traits, present.traits),
    ):
        for name in sorted(set(names).difference(existing)):
            yield Difference(kind, name, None, 'is missing')
    for uuid, provider in wanted.providers.items():
        yield from provider_differences(provider, present.providers.get(uuid), scope)
    for uuid, consumer in wanted.consumers.items():
        yield from consumer_differences(consumer, present.consumers.get(uuid), scope)


def surplus(wanted: Snapshot, present: Snapshot) -> tuple[list[Provider], list[Consumer]]:
    """Return the providers and the consumers that exist at present only.

    :returns: (providers, children after their parents; consumers that use a provider of both).
    """
    providers = [each for uuid, each in present.providers.items() if uuid not in wanted.providers]
    consumers = [
        each
        for uuid, each in present.consumers.items()
        if uuid not in wanted.consumers and not wanted.providers.keys().isdisjoint(each.resources)
    ]
    return in_order(providers), consumers


def in_order(providers: Collection[Provider]) -> list[Provider]:
    """Return providers sorted so that each comes after its parent, if that is among them."""
    return [provider for level in levels(providers) for provider in level]


def levels(providers: Collection[Provider]) -> list[list[Provider]]:
    """Return providers by their depth: first those whose parent is not among them, then the children of these, …"""
    parents = {provider.uuid: provider.parent for provider in providers}
    depths: dict[str, int] = {}
    for provider in providers:
        # From the provider up to the first one whose depth is known. (Each once: a broken source may have a loop.)
        path: dict[str, None] = {}
        each: str | None = provider.uuid
        while each in parents and each not in depths and each not in path:
            path[each] = None
            each = parents[each]
        depth = depths.get(each or '', -1)
        for number, uuid in enumerate(reversed(path), 1):
            depths[uuid] = depth + number
    result: list[list[Provider]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for provider in providers:
        result[depths[provider.uuid]].append(provider)
    return result


def provider_differences(wanted: Provider, present: Provider | None, scope: Scope) -> Iterator[Difference]:
    """Generate the differences of a provider."""
    if present is None:
        yield Difference('provider', wanted.uuid, None, 'is missing')
        return

    def differs(field: str, text: str) -> Difference:
        return Difference('provider', wanted.uuid, field, text)

    for field in ('name', 'parent'):
        if (one := getattr(present, field)) != (other := getattr(wanted, field)):
            yield differs(field, f'{field} is {one}, not {other}')
    for text in _of_inventories(wanted, present):
        yield differs('inventories', text)
    for field, noun in (('traits', 'trait'), ('aggregates', 'aggregate')):
        one, other = getattr(present, field), getattr(wanted, field)
        for name in sorted(other - one):
            yield differs(field, f'{noun} {name} is missing')
        for name in sorted(one - other):
            yield differs(field, f'{noun} {name} is surplus')
    # That of a node's provider follows what the node shows.
    if scope.generations and not present.node and present.generation < wanted.generation:
        yield differs('generation', f'generation is {present.generation}, not {wanted.generation}')


def _of_inventories(wanted: Provider, present: Provider) -> Iterator[str]:
    for name in sorted(wanted.inventories.keys() | present.inventories.keys()):
        one, other = present.inventories.get(name), wanted.inventories.get(name)
        if one is None or other is None:
            yield f'inventory of {name} is {"missing" if one is None else "surplus"}'
            continue
        for field in one:
            if not _is_same(one[field], other[field]) and not (field == 'reserved' and is_used(present)):
                yield f'inventory of {name}: {field} is {one[field]}, not {other[field]}'


def is_used(provider: Provider) -> bool:
    """Whether a provider is that of a node with a holder. Then nova and this service differ in ``reserved``."""
    node = provider.node
    return bool(node and (node.instance_uuid or node.consumers or node.reserved_for))


def _is_same(one: Any, other: Any) -> bool:
    return math.isclose(one, other, rel_tol=_PRECISION)


def consumer_differences(wanted: Consumer, present: Consumer | None, scope: Scope) -> Iterator[Difference]:
    """Generate the differences of a consumer."""
    if present is None:
        yield Difference('consumer', wanted.uuid, None, 'is missing')
        return
    fields = ('project_id', 'user_id', *(('consumer_type',) if scope.types else ()))
    for field in fields:
        if (one := getattr(present, field)) != (other := getattr(wanted, field)):
            yield Difference('consumer', wanted.uuid, field, f'{field} is {one}, not {other}')
    for text in _of_resources(_flat(wanted), _flat(present)):
        yield Difference('consumer', wanted.uuid, 'resources', text)
    if scope.generations and present.generation < wanted.generation:
        text = f'generation is {present.generation}, not {wanted.generation}'
        yield Difference('consumer', wanted.uuid, 'generation', text)


def _of_resources(wanted: Mapping[tuple[str, str], int], present: Mapping[tuple[str, str], int]) -> Iterator[str]:
    for key in sorted(wanted.keys() | present.keys()):
        provider, name = key
        one, other = present.get(key, 0), wanted.get(key, 0)
        if one != other:
            yield f'allocation of {name} of provider {provider} is {one}, not {other}'


def _flat(consumer: Consumer) -> dict[tuple[str, str], int]:
    """Return {(uuid of a provider, resource class): amount}."""
    return {
        (provider, name): amount
        for provider, resources in consumer.resources.items()
        for name, amount in resources.items()
    }
