"""Sentences about the changes and the problems of a transfer."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from ironic_traits.db import names
from ironic_traits.placement.snapshot_differences import Difference
from ironic_traits.placement.snapshots import Snapshot
from ironic_traits.printing import count

#: (kind, key) of a row, as in a Difference.
Row = tuple[str, str]
#: The differences of each row.
Rows = Mapping[Row, list[Difference]]
#: The nouns in summaries.
_PLURALS = {
    'resource class': 'resource classes',
    'trait': 'traits',
    'provider': 'providers',
    'consumer': 'consumers',
}


def needed(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without standard names that are not used.

    It keeps all custom names, and the standard names of its providers and consumers.
    """
    used = {name for provider in snapshot.providers.values() for name in provider.inventories}
    for consumer in snapshot.consumers.values():
        for resources in consumer.resources.values():
            used.update(resources)
    traits = {name for provider in snapshot.providers.values() for name in provider.traits}
    return Snapshot(
        {name for name in snapshot.resource_classes if name.startswith(names.PREFIX)} | used,
        {name for name in snapshot.traits if name.startswith(names.PREFIX)} | traits,
        snapshot.providers,
        snapshot.consumers,
        snapshot.bare_nodes,
    )


def label(kind: str, key: str, *snapshots: Snapshot) -> str:
    """Return the label of a row for sentences.

    :param kind: kind of the row, as in a Difference.
    :param key: key of the row, as in a Difference.
    :param snapshots: snapshots that may have the row.
    """
    for snapshot in snapshots:
        provider = snapshot.providers.get(key) if kind == 'provider' else None
        if provider and provider.name != key:
            return f'provider {provider.name} ({key})'
    return f'{kind} {key}'


def by_row(differences: Iterable[Difference]) -> Rows:
    """Return the differences by their rows."""
    rows: dict[Row, list[Difference]] = collections.defaultdict(list)
    for difference in differences:
        rows[difference.kind, difference.key].append(difference)
    return rows


@dataclasses.dataclass
class Plan:
    """The changes that a transfer would make.

    :ivar created: the rows to create.
    :ivar changed: the rows to change.
    :ivar deleted: the rows to delete.
    :ivar lines: all of them, as lines for a dry run.
    """

    created: list[Row] = dataclasses.field(default_factory=list)
    changed: list[Row] = dataclasses.field(default_factory=list)
    deleted: list[Row] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.lines)

    def add(self, rows: Rows, problems: Mapping[Row, str], *snapshots: Snapshot) -> None:
        """Add the rows that differ, except those with problems.

        :param problems: {row: sentence}.
        :param snapshots: as for ``label``.
        """
        for row, differences in rows.items():
            if row in problems:
                continue
            name = label(*row, *snapshots)
            if differences[0].field is None:
                self.created.append(row)
                self.lines.append(f'+ {name}')
            else:
                self.changed.append(row)
                self.lines.append(f'~ {name}: {"; ".join(each.text for each in differences)}')

    def delete(self, kind: str, key: str, *snapshots: Snapshot) -> None:
        """Add a row that is to be deleted."""
        self.deleted.append((kind, key))
        self.lines.append(f'- {label(kind, key, *snapshots)}')

    def counts(self) -> Iterator[str]:
        """Yield lines such as 'providers: 3 created, 1 changed'."""
        for kind, plural in _PLURALS.items():
            parts = [
                f'{number} {verb}'
                for verb in ('created', 'changed', 'deleted')
                if (number := sum(each == kind for each, _ in getattr(self, verb)))
            ]
            if parts:
                yield f'{plural}: {", ".join(parts)}'


def sentences(rows: Rows, problems: Mapping[Row, str], *snapshots: Snapshot) -> list[str]:
    """Return a sentence for each problem, and for each difference of a row without a problem.

    :param problems: {row: sentence without a subject}.
    """
    lines = [f'{label(*row, *snapshots)}: {problem}' for row, problem in problems.items()]
    for row, differences in rows.items():
        if row not in problems:
            lines += [f'{label(*row, *snapshots)}: {difference.text}' for difference in differences]
    return lines


def summary(snapshot: Snapshot) -> str:
    """Return the size of a snapshot, such as '3 providers and 2 consumers'."""
    return f'{count(len(snapshot.providers), "provider")} and {count(len(snapshot.consumers), "consumer")}'
