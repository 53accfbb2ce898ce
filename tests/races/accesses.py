"""Which tables a statement reads and writes, from its SQL."""

import functools
import re
from typing import NamedTuple

from ironic_traits.db import tables

_WRITTEN = re.compile(r'(INSERT(?: IGNORE)? INTO|UPDATE|DELETE FROM) [`"]?(\w+)', re.IGNORECASE)
_READ = re.compile(r'(?:FROM|JOIN|,) [`"]?(\w+)', re.IGNORECASE)
#: Tables to which writers only add rows, each its own.
_LOGS = frozenset({'change_log', 'node_history'})


class Accesses(NamedTuple):
    """Names of tables that are read and written."""

    read: frozenset = frozenset()
    written: frozenset = frozenset()

    def __or__(self, other):
        return Accesses(self.read | other.read, self.written | other.written)

    def shared(self, other):
        """Return the names of the tables by which two writers can be in the way of each other."""
        both = self.written & other.written - _LOGS
        return both | self.written & other.read | self.read & other.written


@functools.lru_cache(maxsize=4096)
def of(statement):
    """Return the Accesses of a statement. Foreign keys are followed: they are read, or pass a deletion on."""
    found = _WRITTEN.findall(statement)
    written = {name for _, name in found if name in tables.metadata.tables}
    deleted = {name for verb, name in found if verb.upper().startswith('DELETE')}
    for table in tables.metadata.sorted_tables:
        if any(key.column.table.name in deleted for key in table.foreign_keys):
            deleted.add(table.name)
            written.add(table.name)
    parents = {key.column.table.name for name in written for key in tables.metadata.tables[name].foreign_keys}
    read = {name for name in _READ.findall(statement) if name in tables.metadata.tables}
    return Accesses(frozenset(read | parents), frozenset(written))
