"""The kinds of records: the differences between chassis, ports, portgroups, volume connectors and others."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition, Values
from ironic_traits.db.statements.types import Json
from ironic_traits.deploy import states
from ironic_traits.inventory.core import secrets
from ironic_traits.resources.fields import Resource

#: The provision states in which a node is not in use, so that its ports and portgroups may be rewired.
UNUSED = (states.ENROLL, states.INSPECTING, states.INSPECTWAIT, states.MANAGEABLE)
#: A function that raises a failure if a write of a record is not allowed. See ``Kind.decide``.
Decide = Callable[[sa.Connection, sa.Row | None, Values | None, Values | None], None]


def _anything_goes(connection: sa.Connection, node: sa.Row | None, old: Values | None, new: Values | None) -> None:
    """Allow every write."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of record.

    :ivar resource: the table of its fields.
    :ivar duplicates: {column of a unique key: description of the key for the message about a duplicate}.
    :ivar decide: function (connection, node, old, new) that raises a failure if a write is not allowed. ``node`` is the
        row of the locked node with the columns of ``records._STATE``; ``old`` and ``new`` are {field: value} of the
        record. For a new record, ``node`` (which is not locked yet) and ``old`` are None. For a deletion, ``new`` is
        None.
    :ivar list_all: the policy rule that allows the caller to see the records of all nodes.
    :ivar implicit: fields of ``settable`` that ``decide`` sees as None in a new record if the client did not set them.
        Their default is set after ``decide``.
    :ivar computed: {field that is not a column: SQL expression that computes it}.
    :ivar noun: its name for messages, if Ironic uses a name other than that in the path.
    :ivar visible: function (context, grant) that returns the conditions on the records that the caller may see, for
        a kind whose records do not belong to nodes; None if callers see all of them.
    """

    resource: Resource
    duplicates: dict[str, str] = dataclasses.field(default_factory=dict)
    decide: Decide = _anything_goes
    list_all: str = ''
    implicit: tuple[str, ...] = ()
    computed: dict[str, sa.ColumnElement[Any]] = dataclasses.field(default_factory=dict)
    visible: Callable[[Context, Grant], list[Condition]] | None = None
    noun: str = ''

    @functools.cached_property
    def table(self) -> sa.Table:
        """Its table in the database."""
        return tables.metadata.tables[self.resource.name]

    @property
    def what(self) -> str:
        """Its name, for messages."""
        return self.noun or self.resource.singular

    @property
    def settable(self) -> dict[str, Any]:
        """{field that clients may change: default value}."""
        return self.resource.settable

    @functools.cached_property
    def json_fields(self) -> frozenset[str]:
        """Names of the fields that are JSON objects."""
        return frozenset(column.name for column in self.table.c if isinstance(column.type, Json))

    @functools.cached_property
    def sortable(self) -> frozenset[str]:
        """Names of the columns that a list can be sorted by."""
        names = frozenset(column.name for column in self.table.c if not secrets.is_mask(column))
        return names.difference(self.json_fields, self.resource.hidden)

    @functools.cached_property
    def has_node(self) -> bool:
        """Whether the records belong to nodes, which clients choose."""
        return 'node_uuid' in self.settable
