"""One edit of the traits of many nodes: what it changes on each of them, and the digest that guards its execution.

>>> bulk = BulkEdit(add=frozenset({'CUSTOM_C'}), rename={'CUSTOM_A': 'CUSTOM_B'})
>>> edit = bulk.of(Traits({'CUSTOM_A': {'rule:cpu': 1}}), hold=2)
>>> edit.after.holders
{'CUSTOM_B': {'rule:cpu': 1}, 'CUSTOM_C': {'operator': 2}}
>>> sorted(edit.added), sorted(edit.removed)
(['CUSTOM_B', 'CUSTOM_C'], ['CUSTOM_A'])
"""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from ironic_traits.matching import sources
from ironic_traits.matching.sources import Edit, Traits


@dataclasses.dataclass(frozen=True)
class BulkEdit:
    """An edit of the traits of any node.

    :ivar add: traits to add.
    :ivar remove: traits to remove.
    :ivar rename: {trait: its new name}. The sources and vetoes of a renamed trait stay what they are.
    :ivar source: the source that writes; None for a plain write. It cannot rename.
    """

    add: frozenset[str] = frozenset()
    remove: frozenset[str] = frozenset()
    rename: Mapping[str, str] = dataclasses.field(default_factory=dict)
    source: str | None = None

    @property
    def requested(self) -> frozenset[str]:
        """The traits that nodes may get."""
        return self.add.union(self.rename.values())

    @property
    def contradictions(self) -> list[str]:
        """The traits that more than one of ``add``, ``remove`` and ``rename`` name, sorted."""
        renamed = self.rename.keys() | set(self.rename.values())
        counts = Counter(name for names in (self.add, self.remove, renamed) for name in names)
        return sorted(name for name, count in counts.items() if count > 1)

    def of(self, before: Traits, hold: Any) -> Edit:
        """Return what the edit changes on one node.

        :param before: the traits of the node.
        :param hold: the hold of what is added, and of vetoes.
        """
        renamed = sources.rename(before, self.rename).after if self.rename else before
        edit = sources.edit(renamed, hold, add=self.add, remove=self.remove, source=self.source)
        return Edit(before, edit.after, edit.refused)


class Digest:
    """A digest of an edit and of the traits of the nodes that it selects.

    It depends on which nodes are added, and on their traits with the sources and on their vetoes; not on the times of
    these, and not on their users.
    """

    def __init__(self, edit: BulkEdit) -> None:
        parts = [sorted(edit.add), sorted(edit.remove), sorted(edit.rename.items()), edit.source]
        self._hash = hashlib.sha256(orjson.dumps(parts))

    def add(self, uuid: str, traits: Traits) -> None:
        """Add a node. The order in which nodes are added counts."""
        holders = sorted((trait, sorted(holds)) for trait, holds in traits.holders.items())
        self._hash.update(orjson.dumps([uuid, holders, sorted(traits.vetoes)]))

    def text(self) -> str:
        """Return the digest, 64 hexadecimal digits."""
        return self._hash.hexdigest()
