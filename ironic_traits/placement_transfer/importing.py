"""Imports a snapshot of another Placement into the database.

The import is a sequence of transactions: names, then batches of whole trees, each with the consumers whose providers
are complete then. It compares rows first, and again under the locks. Therefore an import that was killed continues when
it is run again, and rows that equal those of the source are not written.
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from ironic_traits.db import names, tables
from ironic_traits.db.engine import Database
from ironic_traits.placement import allocations, import_checks, imports, resource_providers, snapshots
from ironic_traits.placement import failures as placement_failures
from ironic_traits.placement.node_claims import NeedsClaim, never
from ironic_traits.placement.snapshot_differences import Scope, compare, in_order, surplus
from ironic_traits.placement.snapshots import Consumer, Provider, Snapshot
from ironic_traits.placement_transfer import outcome

#: Number of providers, or of consumers, in a transaction.
BATCH = 200

T = TypeVar('T')


class Import:
    """The import of a snapshot.

    :param source: Snapshot of the other Placement.
    :param types: whether responses of the source have the types of consumers.
    :param prune: whether to delete providers (but not those of nodes), and consumers of the source's providers, that
        the source does not have.
    :param batch: number of providers, or of consumers, in a transaction.
    :param needs_claim: function that returns whether a mirrored node must have its consumer as the instance in its
        cloud.
    :ivar problems: {(kind, key): why it cannot be imported}.
    :ivar plan: outcome.Plan of the differences.
    """

    def __init__(
        self,
        database: Database,
        source: Snapshot,
        types: bool = True,
        prune: bool = False,
        batch: int = BATCH,
        needs_claim: NeedsClaim = never,
    ) -> None:
        self._database = database
        self._source = outcome.needed(source)
        self._scope = Scope(generations=True, types=types)
        self._prune = prune
        self._batch = batch
        self._needs_claim = needs_claim
        self.problems: dict[tuple[str, str], str] = {}
        self.plan = outcome.Plan()
        self._here = self._read()
        self._released = self._consumers_to_release()
        self._check()
        self._compare()

    def _read(self) -> Snapshot:
        with self._database.snapshot() as connection:
            return snapshots.read(connection)

    def _consumers_to_release(self) -> list[str]:
        """Return the uuids of the consumers here whose allocations are removed first, to free their nodes."""
        released = [
            uuid
            for uuid, consumer in self._here.consumers.items()
            if uuid in self._source.consumers and consumer.resources != self._source.consumers[uuid].resources
        ]
        if self._prune:
            gone = {provider.uuid for provider in self._providers_to_delete()}
            released += [
                uuid
                for uuid, consumer in self._here.consumers.items()
                if uuid not in self._source.consumers
                and not (gone | self._source.providers.keys()).isdisjoint(consumer.resources)
            ]
        return released

    def _providers_to_delete(self) -> list[Provider]:
        return [each for each in surplus(self._source, self._here)[0] if not each.node] if self._prune else []

    def _check(self) -> None:
        """Find the rows that cannot be imported."""
        found = import_checks.provider_problems(self._source.providers, self._here)
        providers = {uuid: each for uuid, each in self._source.providers.items() if uuid not in found}
        providers |= self._here.providers
        for uuid, problem in found.items():
            self.problems['provider', uuid] = f'cannot be imported: {problem}'
            providers.pop(uuid, None)
        for consumer in self._source.consumers.values():
            refusal = import_checks.consumer_problem(consumer, providers, self._released, self._needs_claim)
            if refusal:
                self.problems['consumer', consumer.uuid] = f'cannot be imported: {refusal}'

    def _compare(self) -> None:
        # Without differences that an import cannot change: the parts of a node's provider that are derived from the
        # node.
        providers = {
            uuid: imports.reachable(each, self._here.providers.get(uuid))
            for uuid, each in self._source.providers.items()
        }
        wanted = snapshots.Snapshot(
            self._source.resource_classes, self._source.traits, providers, self._source.consumers
        )
        rows = outcome.by_row(compare(wanted, self._here, self._scope))
        self.plan.add(rows, self.problems, self._source)
        for uuid in self._released:
            if uuid not in self._source.consumers:
                self.plan.delete('consumer', uuid)
        for provider in self._providers_to_delete():
            self.plan.delete('provider', provider.uuid, self._here)

    def run(self, progress: Callable[[int], object] = lambda number: None) -> None:
        """Write the differences.

        :param progress: function that is called with the number of providers that were just finished.
        """
        names.add(self._database, tables.resource_classes, self._source.resource_classes)
        names.add(self._database, tables.traits, self._source.traits)
        for uuids in self._batches(self._released):
            self._release(uuids)
        self._rename()
        for providers, consumers in self._parts():
            first, *rest = [*self._batches(consumers)] or [[]]
            self._note('consumer', imports.write(self._database, providers, first, self._scope, self._needs_claim))
            for batch in rest:
                self._note('consumer', imports.write(self._database, [], batch, self._scope, self._needs_claim))
            progress(len(providers))
        self._drop_inventories()
        for provider in reversed(in_order(self._providers_to_delete())):
            self._delete(provider.uuid)

    def verify(self) -> list[str]:
        """Read all rows here again, and compare them with the source.

        :returns: [sentence, …], one for each difference.
        """
        here = self._read()
        lines = outcome.sentences(outcome.by_row(compare(self._source, here, self._scope)), self.problems, self._source)
        for consumer in surplus(self._source, here)[1]:
            lines.append(f'consumer {consumer.uuid}: is here, but not in the source (--prune deletes it)')
        return lines

    def refusals(self) -> list[str]:
        """Return a sentence for each row that cannot be imported."""
        return outcome.sentences({}, self.problems, self._source)

    def unknown_names(self) -> list[str]:
        """Return the names of traits and resource classes of the source that are new here, and not custom."""
        wanted = {*self._source.traits, *self._source.resource_classes}
        present = {*self._here.traits, *self._here.resource_classes}
        return sorted(name for name in wanted - present if not name.startswith(names.PREFIX))

    def _note(self, kind: str, problems: Mapping[str, str]) -> None:
        for uuid, problem in problems.items():
            self.problems[kind, uuid] = f'cannot be imported: {problem}'

    def _release(self, uuids: Iterable[str]) -> None:
        claims = [allocations.Demand(consumer=uuid, resources={}, project_id='', user_id='') for uuid in uuids]
        allocations.replace(self._database, claims)

    def _rename(self) -> None:
        new_names = {
            uuid: self._source.providers[uuid].name
            for uuid, provider in self._here.providers.items()
            if self._is_importable(uuid) and not provider.node and provider.name != self._source.providers[uuid].name
        }
        if new_names:
            imports.rename(self._database, new_names)

    def _is_importable(self, uuid: str) -> bool:
        return uuid in self._source.providers and ('provider', uuid) not in self.problems

    def _parts(self) -> Iterator[tuple[list[Provider], list[Consumer]]]:
        """Yield ([providers of whole trees], [consumers whose last providers are among these])."""
        waiting = {
            uuid: set(consumer.resources)
            for uuid, consumer in self._source.consumers.items()
            if ('consumer', uuid) not in self.problems
        }
        users = collections.defaultdict(list)
        for uuid, missing in waiting.items():
            for each in missing:
                users[each].append(uuid)
        for providers in self._trees():
            complete = []
            for provider in providers:
                for uuid in users[provider.uuid]:
                    waiting[uuid].discard(provider.uuid)
                    if not waiting[uuid]:
                        complete.append(self._source.consumers[uuid])
            yield providers, complete

    def _trees(self) -> Iterator[list[Provider]]:
        """Yield lists of providers that can be imported. Each list has whole trees."""
        trees = collections.defaultdict(list)
        roots: dict[str, str] = {}
        for provider in in_order(self._source.providers.values()):
            if self._is_importable(provider.uuid):
                roots[provider.uuid] = roots[provider.parent] if provider.parent else provider.uuid
                trees[roots[provider.uuid]].append(provider)
        batch = []
        for tree in trees.values():
            batch += tree
            if len(batch) >= self._batch:
                yield batch
                batch = []
        yield batch

    def _drop_inventories(self) -> None:
        surplus_classes = {
            uuid: provider.inventories.keys()
            for uuid, provider in self._source.providers.items()
            if self._is_importable(uuid)
            and uuid in self._here.providers
            and not self._here.providers[uuid].node
            and self._here.providers[uuid].inventories.keys() - provider.inventories.keys()
        }
        for batch in self._batches(surplus_classes):
            kept = {uuid: surplus_classes[uuid] for uuid in batch}
            self._note('provider', imports.drop_inventories(self._database, kept))

    def _delete(self, uuid: str) -> None:
        try:
            resource_providers.delete(self._database, uuid)
        except placement_failures.ProviderNotFound:
            pass
        except placement_failures.Conflict as failure:
            self.problems['provider', uuid] = f'cannot be deleted: {failure}'

    def _batches(self, items: Iterable[T]) -> Iterator[list[T]]:
        items = list(items)
        for start in range(0, len(items), self._batch):
            yield items[start : start + self._batch]
