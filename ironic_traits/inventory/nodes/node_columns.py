"""The columns of nodes in SELECTs, with placeholders for values that the caller may not see.

A JSON field is the stored text, which responses contain as it is. ``traits`` is a sorted list.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine.result import IteratorResult, SimpleResultMetaData

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Columns
from ironic_traits.db.statements.types import Json
from ironic_traits.inventory.core import secrets, trait_filters
from ironic_traits.inventory.holds import reservations
from ironic_traits.inventory.traits import node_traits
from ironic_traits.resources.nodes import NODES

#: {field that only callers with a certain policy rule may see: name of the rule}.
_SHOW_RULES = {field.name: field.show_rule.name for field in NODES.fields if field.show_rule}
JSON_FIELDS = frozenset(column.name for column in tables.nodes.c if isinstance(column.type, Json))
#: Fields that a list can be sorted by.
SORTABLE = frozenset(column.name for column in tables.nodes.c if not secrets.is_mask(column)).difference(
    JSON_FIELDS, NODES.hidden
)


def columns(context: Context, fields: tuple[str, ...]) -> Columns:
    """Return the columns for fields, with a placeholder if the caller may not see the field of a node."""
    hidden, masked = _hidden(context, fields), secrets.masked(context, tables.nodes, fields)
    conductor = context.service.conductors.column(context) if 'conductor' in fields else None
    if not hidden:
        return all_columns(fields, masked, conductor)
    return tuple(
        _shown_to(context, field, field in masked) if field in hidden else column
        for field, column in zip(fields, all_columns(fields, masked, conductor), strict=True)
    )


def with_sources(
    context: Context, connection: sa.Connection, fields: tuple[str, ...], rows: Sequence[sa.Row]
) -> Sequence[sa.Row]:
    """Return rows with ``node_traits.Details`` as ``trait_sources``, if that is one of the fields."""
    if 'trait_sources' not in fields or not rows:
        return rows
    details = node_traits.details_of(context, connection, [row.trait_sources for row in rows])
    keys = rows[0]._fields
    complete = (
        [details[value] if key == 'trait_sources' else value for key, value in zip(keys, row, strict=True)]
        for row in rows
    )
    return IteratorResult(SimpleResultMetaData(keys), complete).all()


def _hidden(context: Context, fields: Iterable[str]) -> set[str]:
    """Return the fields that the caller may see only on some nodes, or on none, as a set."""
    if context.may('baremetal:node:get:filter_threshold'):
        return set()
    return {field for field in fields if field in _SHOW_RULES and not context.may(_SHOW_RULES[field])}


def sort_column(context: Context, key: str) -> sa.ColumnElement[Any]:
    """Return the column to sort by, as the caller sees it, so that the order does not reveal hidden values."""
    return _shown_to(context, key).element if _hidden(context, (key,)) else tables.nodes.c[key]


@functools.lru_cache(maxsize=256)
def all_columns(fields: tuple[str, ...], masked: frozenset[str], conductor: sa.Label[str] | None) -> Columns:
    """Return the columns for fields, for a caller who may see all of them.

    :param masked: fields whose secrets are masked.
    :param conductor: the column ``conductor``; None if it is not one of the fields.
    """
    return tuple(
        conductor if field == 'conductor' and conductor is not None else _column(field, field in masked)
        for field in fields
    )


def _shown_to(context: Context, field: str, is_masked: bool = False) -> sa.Label[Any]:
    """Return a column that shows a field to the node's owner or lessee, if the policy allows it, else a placeholder."""
    rule, project = _SHOW_RULES[field], context.project_id
    visible = [
        tables.nodes.c[role] == project
        for role in ('owner', 'lessee')
        if project and context.may(rule, {f'node.{role}': project})
    ]
    placeholder = f'** Redacted - requires {rule} permission. **'
    if field in JSON_FIELDS:
        placeholder = orjson.dumps({'content': placeholder}).decode()
    return sa.case((sa.or_(sa.false(), *visible), _column(field, is_masked)), else_=placeholder).label(field)


def _column(field: str, is_masked: bool = False) -> sa.ColumnElement[Any]:
    if field == 'traits':
        return trait_filters.JOINED
    if field == 'trait_sources':
        # ``with_sources`` replaces it.
        return tables.nodes.c.id.label(field)
    if field == 'reservation_uuid':
        return reservations.UUID
    if not NODES[field].is_column:
        return sa.null().label(field)
    if field in JSON_FIELDS:
        return secrets.column(tables.nodes, field, is_masked)
    return tables.nodes.c[field]
