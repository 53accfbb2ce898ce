"""Writes single providers to another Placement, through its API."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ironic_traits.placement.snapshot_differences import Scope, provider_differences
from ironic_traits.placement.snapshots import Consumer, Provider, Snapshot
from ironic_traits.placement_transfer.reading import Reader
from ironic_traits.placement_transfer.remote import Refused, Remote, repeated

_SCOPE = Scope(generations=False, types=False)
_MAX = 2**31 - 1
#: An inventory with room for any allocation.
_ROOM = {'total': _MAX, 'reserved': 0, 'min_unit': 1, 'max_unit': _MAX, 'step_size': 1, 'allocation_ratio': 1.0}


def crowded(wanted: Snapshot, pending: Iterable[Consumer]) -> set[str]:
    """Return the uuids of the providers whose inventories would refuse their own allocations.

    These are over-allocated, or their limits were changed after the allocations were made.

    :param pending: consumers in the snapshot that will be written.
    """
    used: collections.Counter[tuple[str, str]] = collections.Counter()
    for uuid, name, amount in _amounts(wanted.consumers.values()):
        used[uuid, name] += amount
    uuids = set()
    for uuid, name, amount in _amounts(pending):
        inventory = wanted.providers[uuid].inventories.get(name)
        if inventory and not _fits(inventory, amount, used[uuid, name]):
            uuids.add(uuid)
    return uuids


def _amounts(consumers: Iterable[Consumer]) -> Iterator[tuple[str, str, int]]:
    """Yield (uuid of a provider, resource class, amount)."""
    for consumer in consumers:
        for uuid, resources in consumer.resources.items():
            for name, amount in resources.items():
                yield uuid, name, amount


def _fits(inventory: Mapping[str, Any], amount: int, used: int) -> bool:
    return (
        inventory['min_unit'] <= amount <= inventory['max_unit']
        and amount % inventory['step_size'] == 0
        and used <= (inventory['total'] - inventory['reserved']) * inventory['allocation_ratio']
    )


def at_first(provider: Provider, present: Provider | None, is_crowded: bool) -> Provider:
    """Return the form of a provider before the allocations are written: it keeps the inventories that it has there.

    :param provider: Provider to write.
    :param present: the Provider that exists there; None if there is none.
    :param is_crowded: whether it needs inventories with room for any allocation.
    """
    inventories = dict.fromkeys(provider.inventories, _ROOM) if is_crowded else provider.inventories
    present_ones = {} if present is None else present.inventories
    return dataclasses.replace(provider, inventories={**present_ones, **inventories})


class ProviderWriter:
    """A writer of providers.

    :param reader: of this Placement.
    """

    def __init__(self, remote: Remote, reader: Reader) -> None:
        self._remote = remote
        self._reader = reader

    def write(self, provider: Provider, present: Provider | None) -> None:
        """Create or change a provider.

        :param provider: Provider to write.
        :param present: the Provider that was read there; None if there is none.
        :raises Refused: the provider cannot be written.
        """

        def find(refused: Refused) -> Provider | None:
            found = self._find(provider.uuid)
            if found is None and refused.status < 500:
                raise refused
            return found

        # After a duplicate name, an earlier attempt may have created the provider.
        repeated(lambda current: self._write(provider, current), present, find, 'placement.duplicate_name')

    def rewrite(self, provider: Provider) -> None:
        """Change a provider that was just written.

        :raises Refused: the provider cannot be written.
        """
        self.write(provider, self._find(provider.uuid))

    def delete(self, provider: Provider) -> dict[str, str]:
        """Delete a provider.

        :returns: {uuid: why it cannot be deleted}; {} if it is deleted.
        """
        try:
            self._remote.send('DELETE', self._path(provider.uuid))
        except Refused as refused:
            if refused.is_fatal:
                raise
            if refused.status != 404:
                return {provider.uuid: str(refused)}
        return {}

    def free_names(self, wanted: Sequence[Provider], present: dict[str, Provider]) -> None:
        """Rename the providers whose names will change and are needed for other providers.

        :param present: the providers there by uuid, which this method updates.
        """
        names = {provider.name: provider.uuid for provider in wanted}
        for provider in wanted:
            here = present.get(provider.uuid)
            if here and here.name != provider.name and names.get(here.name, here.uuid) != here.uuid:
                present[here.uuid] = other = dataclasses.replace(here, name=f'{here.uuid} is renamed')
                self._put(other)

    def _find(self, uuid: str) -> Provider | None:
        try:
            return self._reader.provider(uuid)
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def _path(self, uuid: str) -> str:
        return f'/resource_providers/{self._reader.spelling(uuid)}'

    def _write(self, provider: Provider, present: Provider | None) -> None:
        if present is None:
            present = self._create(provider)
        changes = {difference.field for difference in provider_differences(provider, present, _SCOPE)}
        if changes & {'name', 'parent'}:
            self._put(provider)
        generation = present.generation
        for part, value in (
            ('inventories', provider.inventories),
            ('traits', sorted(provider.traits)),
            ('aggregates', sorted(provider.aggregates)),
        ):
            if part in changes:
                document = {'resource_provider_generation': generation, part: value}
                response = self._remote.send('PUT', f'{self._path(provider.uuid)}/{part}', document)
                generation = response['resource_provider_generation']

    def _create(self, provider: Provider) -> Provider:
        document = {'uuid': provider.uuid, **self._names(provider)}
        response = self._remote.send('POST', '/resource_providers', document)
        none: frozenset[str] = frozenset()
        return Provider(provider.uuid, provider.name, provider.parent, response['generation'], {}, none, none)

    def _put(self, provider: Provider) -> None:
        self._remote.send('PUT', self._path(provider.uuid), self._names(provider))

    def _names(self, provider: Provider) -> dict[str, str | None]:
        parent = provider.parent and self._reader.spelling(provider.parent)
        return {'name': provider.name, 'parent_provider_uuid': parent}
