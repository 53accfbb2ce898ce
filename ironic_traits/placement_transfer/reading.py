"""Reads all data of another Placement, with four requests for each provider, and one for each consumer.

Its API has no lists of allocations or inventories, and no transactions. The data of a provider is consistent if all
four responses have the same generation. At the end, the list of providers is read again, and each provider whose
generation has changed. This is repeated until no generation has changed, up to a maximum number of rounds.

Two kinds of changes do not change a generation: the deletion of a consumer by ``DELETE /allocations/{uuid}``, and
updates of aggregates by requests below version 1.19. Only another import detects these.
"""

import contextlib
import re
import uuid as uuids
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ironic_traits.placement.inventory_usage import FIELDS
from ironic_traits.placement.snapshots import Consumer, Provider, Snapshot
from ironic_traits.placement_transfer import threads
from ironic_traits.placement_transfer.remote import TYPES_SINCE, Refused, Remote, Unusable

T = TypeVar('T')

#: Maximum number of attempts to read one provider consistently, and of rounds over all providers.
_ATTEMPTS, _ROUNDS = 5, 4
_NAME = re.compile(r'[A-Z0-9_]{1,255}')
#: The type of a consumer without a type in responses.
_NO_TYPE = 'unknown'


class Reader:
    """A reader of one Placement.

    :param jobs: number of concurrent requests.
    :param progress: function that is called with (number of providers and consumers just read, number of further ones).
    :ivar unsettled: uuids of the providers that were still changing after the last round.
    """

    def __init__(
        self, remote: Remote, jobs: int = 1, progress: Callable[[int, int], object] = lambda done, total: None
    ) -> None:
        self._remote = remote
        self._jobs = jobs
        self._progress = progress
        self._providers: dict[str, Provider] = {}
        self._consumers: dict[str, Consumer] = {}
        # {uuid of a provider: {uuid of a consumer: generation}}.
        self._holders: dict[str, dict[str, int]] = {}
        # {uuid in canonical form: uuid in the spelling of the other Placement}.
        self._spellings: dict[str, str] = {}
        self.unsettled: list[str] = []

    def read(self) -> Snapshot:
        """Return all data as a Snapshot.

        :raises Unusable: the data cannot be read.
        """
        with _expected():
            for number in range(_ROUNDS):
                rows = self._list()
                self.unsettled = [uuid for uuid, row in rows.items() if self._has_changed(uuid, row)]
                if number and not self.unsettled:
                    break
                self._each(self._read_provider, [rows[uuid] for uuid in self.unsettled])
                self._read_consumers()
            return Snapshot(
                self._names('resource_classes', lambda each: each['name']),
                self._names('traits', lambda each: each),
                dict(sorted(self._providers.items(), key=lambda item: item[1].name)),
                dict(sorted(self._consumers.items())),
            )

    def provider(self, uuid: str) -> Provider:
        """Read one provider again, and return it.

        :raises Unusable: the provider cannot be read.
        """
        with _expected():
            self._read_provider(self._remote.get(f'/resource_providers/{self.spelling(uuid)}'))
            return self._providers[uuid]

    def consumer(self, uuid: str) -> Consumer | None:
        """Read one consumer again, and return it; None if it has no allocations.

        :raises Unusable: the consumer cannot be read.
        """
        with _expected():
            self._read_consumer(uuid)
            return self._consumers.get(uuid)

    def spelling(self, uuid: str) -> str:
        """Return a uuid in the spelling of the other Placement, which stores uuids as clients have sent them."""
        return self._spellings.get(uuid, uuid)

    def _list(self) -> dict[str, dict[str, Any]]:
        """Return {uuid: provider in the list of all}. Forget providers that no longer exist."""
        rows = {}
        for row in self._remote.get('/resource_providers')['resource_providers']:
            uuid = self._canonical(row['uuid'])
            if uuid in rows:
                raise Unusable(f'Two providers have the uuid {uuid}, in two spellings.')
            rows[uuid] = row
        for uuid in self._providers.keys() - rows:
            self._forget(uuid)
        return rows

    def _forget(self, uuid: str) -> None:
        self._providers.pop(uuid, None)
        self._holders.pop(uuid, None)

    def _has_changed(self, uuid: str, row: Mapping[str, Any]) -> bool:
        known = self._providers.get(uuid)
        return known is None or (known.name, known.parent, known.generation) != (
            row['name'],
            self._parent(row),
            row['generation'],
        )

    def _parent(self, row: Mapping[str, Any]) -> str | None:
        return row['parent_provider_uuid'] and self._canonical(row['parent_provider_uuid'])

    def _each(self, function: Callable[[T], None], items: Sequence[T]) -> None:
        """Call a function with each item, in threads."""
        self._progress(0, len(items))
        threads.each(self._jobs, function, items, lambda number: self._progress(number, 0))

    def _read_provider(self, row: Mapping[str, Any]) -> None:
        uuid = self._canonical(row['uuid'])
        path = f'/resource_providers/{row["uuid"]}'
        try:
            for _ in range(_ATTEMPTS):
                parts = {name: self._remote.get(f'{path}/{name}') for name in _PARTS}
                generations = {part['resource_provider_generation'] for part in parts.values()}
                if len(generations) == 1:
                    break
        except Refused as refused:
            if refused.status != 404:
                raise
            # The provider was deleted.
            self._forget(uuid)
            return
        # Without a consistent read, take the lowest generation. The provider will then be read again.
        generation = min(generations)
        values = {name: parts[name][name] for name in _PARTS}
        self._holders[uuid] = {
            self._canonical(consumer): each['consumer_generation'] for consumer, each in values['allocations'].items()
        }
        self._providers[uuid] = Provider(
            uuid,
            str(row['name']),
            self._parent(row),
            generation,
            {_name(name): {field: each[field] for field in FIELDS} for name, each in values['inventories'].items()},
            frozenset(map(_name, values['traits'])),
            frozenset(str(uuids.UUID(each)) for each in values['aggregates']),
        )

    def _read_consumers(self) -> None:
        """Read the consumers whose generations have changed, and forget those without allocations."""
        generations: dict[str, int] = {}
        for holders in self._holders.values():
            generations |= holders
        for uuid in self._consumers.keys() - generations:
            del self._consumers[uuid]
        changed = [
            uuid
            for uuid, generation in generations.items()
            if uuid not in self._consumers or self._consumers[uuid].generation != generation
        ]
        self._each(self._read_consumer, changed)

    def _read_consumer(self, uuid: str) -> None:
        document = self._remote.get(f'/allocations/{self.spelling(uuid)}')
        if not document['allocations']:
            # The consumer was deleted.
            self._consumers.pop(uuid, None)
            return
        consumer_type = document['consumer_type'] if self._remote.minor >= TYPES_SINCE else None
        self._consumers[uuid] = Consumer(
            uuid,
            document['project_id'],
            document['user_id'],
            None if consumer_type == _NO_TYPE else consumer_type,
            document['consumer_generation'],
            {
                self._canonical(provider): {_name(name): int(amount) for name, amount in each['resources'].items()}
                for provider, each in document['allocations'].items()
            },
        )

    def _names(self, noun: str, name: Callable[[Any], str]) -> set[str]:
        return {_name(name(each)) for each in self._remote.get(f'/{noun}')[noun]}

    def _canonical(self, uuid: str) -> str:
        canonical = str(uuids.UUID(uuid))
        if canonical != uuid:
            self._spellings[canonical] = uuid
        return canonical


_PARTS = ('inventories', 'traits', 'aggregates', 'allocations')


def _name(text: str) -> str:
    """Return the name of a trait or resource class.

    :raises ValueError: the text is not a valid name.
    """
    if not _NAME.fullmatch(text):
        raise ValueError(f'{text!r} is not a name of a trait or resource class')
    return text


@contextlib.contextmanager
def _expected() -> Iterator[None]:
    """Raise Unusable if a document of the block is not as expected."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unusable(f'A response is not that of a Placement API: {error!r}.') from error
