"""The traits of a node at a past time, from its current traits and its history."""

import datetime

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.types import NameList
from ironic_traits.inventory.core import history, single_node, trait_filters
from ironic_traits.matching.past_traits import TraitWrite, before

_ENTRIES = tables.node_history.c


def list_all(context: Context, grant: Grant, at: datetime.datetime) -> list[str]:
    """Return the traits that a node had at a time.

    :param at: datetime in UTC, without a time zone.
    :returns: [name, …], sorted.
    :raises failures.InvalidInput: the time is in the future.
    :raises failures.TraitsNotKnown: the history of the node begins later.
    """
    with context.read() as connection:
        history.check_past(connection, 'at', at)
        node = single_node.read(connection, grant.ident, (tables.nodes.c.uuid,))
        rows = connection.execute(_statement(node.uuid, at)).all()
        if not rows:
            raise failures.NodeNotFound(node=grant.ident)
        present, *since = rows
        if present.id is None:
            raise failures.TraitsNotKnown(
                node=node.uuid, at=_text(at), begin=_begin(history.first_moment(connection, node.uuid))
            )
    return sorted(before(present.added, (TraitWrite(row.added, row.removed) for row in since)))


def _statement(node_uuid: str, at: datetime.datetime) -> sa.Select:
    """Return the SELECT of a node's current traits, and of the entries about its traits after a time.

    It is one statement, so that no write can happen between the two.

    :returns: rows with ``id``, ``added`` and ``removed``. In the first row, ``added`` has the current traits, and
        ``id`` is the id of the last entry before the time; NULL if there is none, or if the node was created later.
        The other rows are entries, the newest first.
    """
    of_node = _ENTRIES.node_uuid == node_uuid
    # The entries before the creation are those of a deleted node with the same uuid.
    other = tables.node_history.alias()
    created_later = sa.exists().where(
        other.c.node_uuid == node_uuid,
        other.c.created_at > at,
        other.c.event_type == history.NODE,
        other.c.event == history.CREATED,
    )
    last = sa.select(sa.func.max(_ENTRIES.id)).where(of_node, _ENTRIES.created_at <= at, ~created_later)
    present = sa.select(
        sa.literal_column('0').label('part'),
        last.scalar_subquery().label('id'),
        trait_filters.JOINED.label('added'),
        sa.type_coerce(sa.null(), NameList()).label('removed'),
    ).where(tables.nodes.c.uuid == node_uuid)
    since = sa.select(sa.literal_column('1'), _ENTRIES.id, _ENTRIES.added, _ENTRIES.removed).where(
        of_node,
        _ENTRIES.id > last.scalar_subquery(),
        _ENTRIES.event_type == history.TRAIT,
    )
    union = sa.union_all(present, since).subquery()
    return sa.select(union.c.id, union.c.added, union.c.removed).order_by(union.c.part, union.c.id.desc())


def _begin(first: datetime.datetime | None) -> str:
    return f'begins at {_text(first)}' if first else 'is empty'


def _text(moment: datetime.datetime) -> str:
    return f'{moment.isoformat()}+00:00'
