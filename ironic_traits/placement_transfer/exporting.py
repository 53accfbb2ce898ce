"""Exports a snapshot of the database to another Placement, through its API.

An export first compares both sides, and writes only differences. Therefore an export that was killed continues when it
is run again. Each write has the generation that was read. If another client was faster, the row is read and compared
again.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironic_traits.db import names
from ironic_traits.db.engine import Database
from ironic_traits.placement import import_checks, snapshots
from ironic_traits.placement.snapshot_differences import Scope, compare, consumer_differences, in_order, levels, surplus
from ironic_traits.placement.snapshots import Consumer, Provider, Snapshot
from ironic_traits.placement_transfer import consumers, outcome, providers, threads
from ironic_traits.placement_transfer.reading import Reader
from ironic_traits.placement_transfer.remote import TYPES_SINCE, Refused, Remote


def read(database: Database) -> Snapshot:
    """Return the snapshot of the database to export. In it, nodes' providers are like all others.

    The unit of a node with a reservation is reserved, because the other Placement has no reservations.
    """
    with database.snapshot() as connection:
        snapshot = snapshots.read(connection)
    return dataclasses.replace(
        snapshot, providers={uuid: _plain(provider) for uuid, provider in snapshot.providers.items()}, bare_nodes=()
    )


def _plain(provider: Provider) -> Provider:
    node = provider.node
    if node is None:
        return provider
    inventories = provider.inventories
    if node.reserved_for and not node.consumers:
        inventories = {name: {**fields, 'reserved': 1} for name, fields in inventories.items()}
    return dataclasses.replace(provider, inventories=inventories, node=None)


class Export:
    """The export of a snapshot.

    :param wanted: Snapshot to export.
    :param reader: it has read ``there``, and reads single rows again.
    :param there: Snapshot of the other Placement.
    :param jobs: number of concurrent requests.
    :param prune: whether to delete providers, and consumers of exported providers, that are only there.
    :ivar problems: {(kind, key): why it cannot be exported}.
    :ivar plan: outcome.Plan of the differences.
    """

    def __init__(
        self, remote: Remote, wanted: Snapshot, reader: Reader, there: Snapshot, jobs: int = 1, prune: bool = False
    ) -> None:
        self._remote = remote
        self._wanted = outcome.needed(wanted)
        self._there = there
        self._jobs = jobs
        self._scope = Scope(generations=False, types=remote.minor >= TYPES_SINCE)
        self._surplus = surplus(self._wanted, there) if prune else ([], [])
        self.problems: dict[tuple[str, str], str] = {}
        self.plan = outcome.Plan()
        self._check()
        rows = outcome.by_row(compare(self._wanted, there, self._scope))
        self.plan.add(rows, self.problems, self._wanted)
        for provider in self._surplus[0]:
            self.plan.delete('provider', provider.uuid, there)
        for consumer in self._surplus[1]:
            self.plan.delete('consumer', consumer.uuid)
        self._providers = providers.ProviderWriter(remote, reader)
        self._consumers = consumers.ConsumerWriter(remote, reader)

    def _check(self) -> None:
        """Find the rows that cannot be exported."""
        for kind, wanted, present in (
            ('resource class', self._wanted.resource_classes, self._there.resource_classes),
            ('trait', self._wanted.traits, self._there.traits),
        ):
            for name in sorted(set(wanted).difference(present)):
                if not name.startswith(names.PREFIX):
                    self.problems[kind, name] = 'is missing: it is not in the version of the library there'
        found = import_checks.provider_problems(self._wanted.providers, self._there)
        providers = {uuid: each for uuid, each in self._wanted.providers.items() if uuid not in found}
        for uuid, problem in found.items():
            self._note('provider', uuid, problem)
        for consumer in self._wanted.consumers.values():
            refusal = import_checks.consumer_problem(consumer, providers)
            if refusal:
                self._note('consumer', consumer.uuid, refusal)

    def run(self, progress: Callable[[int], object] = lambda number: None) -> None:
        """Write the differences.

        :param progress: function that is called with the number of providers that were just finished.
        """
        self._create_names()
        pending = self._pending_consumers()
        self._release(pending)
        wanted = [each for uuid, each in self._wanted.providers.items() if ('provider', uuid) not in self.problems]
        targets = [self._without_unknown_names(each) for each in wanted]
        self._providers.free_names(targets, self._there.providers)
        crowded = providers.crowded(self._wanted, pending)
        unfinished = []

        def write(provider: Provider) -> None:
            present = self._there.providers.get(provider.uuid)
            first = providers.at_first(provider, present, provider.uuid in crowded)
            if first.inventories != provider.inventories:
                unfinished.append(provider)
            self._try(provider, self._providers.write, first, present)

        for level in levels(targets):
            threads.each(self._jobs, write, level, progress)
        self._note_all('consumer', self._consumers.write(pending, self._there.consumers))
        # Providers that are over-allocated here get their final inventories now. Others lose inventories that are only
        # there.
        threads.each(self._jobs, lambda each: self._try(each, self._providers.rewrite, each), unfinished)
        # Children first.
        for provider in reversed(in_order(self._surplus[0])):
            self._note_all('provider', self._providers.delete(provider))

    def verify(self, there: Snapshot) -> list[str]:
        """Compare the other Placement with the exported snapshot.

        :param there: Snapshot of the other Placement, read after ``run``.
        :returns: [sentence, …], one for each difference.
        """
        lines = outcome.sentences(
            outcome.by_row(compare(self._wanted, there, self._scope)), self.problems, self._wanted
        )
        for consumer in surplus(self._wanted, there)[1]:
            lines.append(f'consumer {consumer.uuid}: is there, but not here (--prune deletes it)')
        return lines

    def refusals(self) -> list[str]:
        """Return a sentence for each row that cannot be exported."""
        return outcome.sentences({}, self.problems, self._wanted)

    def _note(self, kind: str, key: str, problem: str) -> None:
        self.problems[kind, key] = f'cannot be exported: {problem}'

    def _note_all(self, kind: str, problems: Mapping[str, str]) -> None:
        for key, problem in problems.items():
            self._note(kind, key, problem)

    def _create_names(self) -> None:
        for noun, wanted, present in (
            ('resource_classes', self._wanted.resource_classes, self._there.resource_classes),
            ('traits', self._wanted.traits, self._there.traits),
        ):
            missing = sorted(name for name in set(wanted).difference(present) if name.startswith(names.PREFIX))
            for name in missing:
                self._remote.send('PUT', f'/{noun}/{name}')

    def _pending_consumers(self) -> list[Consumer]:
        """Return the consumers to write."""
        return [
            consumer
            for uuid, consumer in self._wanted.consumers.items()
            if ('consumer', uuid) not in self.problems
            and any(consumer_differences(consumer, self._there.consumers.get(uuid), self._scope))
        ]

    def _release(self, pending: Sequence[Consumer]) -> None:
        """Make room: remove allocations that are only there, and those that will change."""
        moved = [
            self._there.consumers[each.uuid]
            for each in pending
            if each.uuid in self._there.consumers and self._there.consumers[each.uuid].resources != each.resources
        ]
        self._note_all('consumer', self._consumers.delete([*self._surplus[1], *moved]))
        for consumer in moved:
            self._there.consumers.pop(consumer.uuid)

    def _without_unknown_names(self, provider: Provider) -> Provider:
        """Return a provider without the names that do not exist there and cannot be created."""
        unknown = {name for kind, name in self.problems if kind in ('trait', 'resource class')}
        inventories = {name: fields for name, fields in provider.inventories.items() if name not in unknown}
        return dataclasses.replace(provider, traits=provider.traits - unknown, inventories=inventories)

    def _try(self, provider: Provider, function: Callable[..., None], *arguments: Any) -> None:
        try:
            function(*arguments)
        except Refused as refused:
            if refused.is_fatal:
                raise
            self._note('provider', provider.uuid, str(refused))
