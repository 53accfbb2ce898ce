"""Conversion of nodes and records in responses of Ironic into rows of the inventory."""

import datetime

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.types import Json
from ironic_traits.inventory import mirrored_allocations, mirrored_nodes, mirrored_records
from ironic_traits.inventory.mirror_admission import MirroredNode
from ironic_traits.matching.traits import is_trait
from ironic_traits.mirror.cloud import Unreadable
from ironic_traits.resources.allocations import ALLOCATIONS
from ironic_traits.resources.nodes import NODES


def moment(text):
    """Return a time of a response as a datetime in UTC, without a time zone; None for None.

    :raises Unreadable: it is not a time.
    """
    if text is None:
        return None
    try:
        parsed = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise Unreadable(f'It sent {str(text)[:50]!r} as a time.') from None
    return parsed.astimezone(datetime.UTC).replace(tzinfo=None) if parsed.tzinfo else parsed


def node(document):
    """Return a node of a response as a MirroredNode.

    :raises Unreadable: the node is incomplete.
    """
    row = _row(NODES, tables.nodes, mirrored_nodes.COLUMNS, document)
    row['origin_conductor'] = document.get('conductor')
    names = document.get('traits') or []
    traits = frozenset(name for name in names if isinstance(name, str) and is_trait(name))
    invalid = sorted(repr(name) for name in names if name not in traits)
    problem = f'These are not traits here, and are left out: {", ".join(invalid)}.' if invalid else ''
    return MirroredNode(row, traits, problem)


def record(kind, document):
    """Return a record of a response, {column: value}.

    :param kind: ironic_traits.inventory.record_kinds.Kind.
    :raises Unreadable: the record is incomplete.
    """
    return _row(kind.resource, kind.table, mirrored_records.columns(kind), document)


def allocation(document):
    """Return an allocation of a response, {column: value}.

    :raises Unreadable: the allocation is incomplete.
    """
    row = _row(ALLOCATIONS, mirrored_allocations.TABLE, mirrored_allocations.COLUMNS, document)
    return row | {name: document.get(name) or [] for name in ('traits', 'candidate_nodes')}


def _row(resource, table, names, document):
    try:
        return {'uuid': document['uuid'], **{name: _value(resource, table.c[name], document) for name in names}}
    except (KeyError, TypeError):
        raise Unreadable(f'It sent {table.name} without uuids.') from None


def _value(resource, column, document):
    """Return the value of a column. A field that an older version of the API lacks gets the value of a new item."""
    value = document.get(column.name)
    if isinstance(column.type, sa.DateTime):
        return moment(value)
    if value is not None or column.nullable:
        return value
    default = resource[column.name].default if column.name in resource else None
    if isinstance(column.type, Json):
        return {}
    return bool(default) if isinstance(column.type, sa.Boolean) else default or ''
