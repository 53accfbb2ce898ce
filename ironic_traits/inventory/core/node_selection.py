"""Selects many nodes for one request, and locks them in the order of their ids."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context, Grant, target_of
from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_filters, origins, trait_filters
from ironic_traits.matching.traits import Filter

#: Maximum number of nodes in one statement.
BATCH = 500
#: Maximum number of nodes that the message of a failure names.
MAX_NAMED = 10
_COLUMNS = tuple(tables.nodes.c[name] for name in ('id', 'uuid', 'name', 'owner', 'lessee', 'reservation'))
_Item = TypeVar('_Item')


class Selection(NamedTuple):
    """The nodes that a request selects among those that the caller may see.

    :ivar filters: {filter: value}, as for ``node_filters.conditions``.
    :ivar traits: filter on traits.
    :ivar idents: uuids and names of the nodes; None for all nodes that pass the filters.
    """

    filters: Mapping[str, Any]
    traits: Filter
    idents: tuple[str, ...] | None = None


def select(
    context: Context,
    connection: sa.Connection,
    grant: Grant,
    selection: Selection,
    ids: Sequence[int] | None = None,
) -> Sequence[sa.Row]:
    """Return the selected nodes, sorted by id.

    :param ids: ids of selected nodes, to return those of them that are still selected; None for all.
    :returns: [row with ``id``, ``uuid``, ``name``, ``owner``, ``lessee`` and ``reservation``, …].
    :raises failures.NodeNotFound: the selection names nodes that do not exist, or that the caller may not see.
    """
    statement = sa.select(*_COLUMNS).where(*node_filters.visible(context, grant)).order_by(tables.nodes.c.id)
    if selection.idents is None:
        conditions = [
            *node_filters.without_children(selection.filters),
            *node_filters.conditions(selection.filters).values(),
        ]
        statement = statement.where(*conditions, *trait_filters.where(selection.traits))
    if ids is not None:
        return connection.execute(statement.where(tables.nodes.c.id.in_(ids))).all()
    if selection.idents is None:
        return connection.execute(statement).all()
    rows: dict[int, sa.Row] = {}
    for batch in batches(selection.idents):
        rows |= {row.id: row for row in connection.execute(statement.where(node_filters.among(batch)))}
    existing = {ident for row in rows.values() for ident in (row.uuid, row.name)}
    missing = [ident for ident in selection.idents if ident not in existing]
    if missing:
        raise failures.NodeNotFound(node=', '.join(missing[:MAX_NAMED]))
    return [rows[node_id] for node_id in sorted(rows)]


def check_rights(context: Context, rules: Sequence[str], nodes: Sequence[sa.Row]) -> None:
    """Raise EditForbidden unless policy allows a request for each of these nodes.

    :param rules: names of policy rules that must all allow the request. The failure names the first one.
    :param nodes: rows from ``select``.
    """
    if all(context.may(rule) for rule in rules):
        return
    # Policy depends only on the owner and the lessee. Few projects own many nodes: there are few checks.
    counts = Counter((node.owner, node.lessee) for node in nodes)
    targets = {(node.owner, node.lessee): target_of(node) for node in nodes}
    forbidden = sum(
        count for key, count in counts.items() if not all(context.may(rule, targets[key]) for rule in rules)
    )
    if forbidden:
        raise failures.EditForbidden(rule=rules[0], forbidden=forbidden, selected=len(nodes))


#: All transactions that lock several nodes lock them in the order of their ids, to avoid deadlocks. On PostgreSQL, an
#: UPDATE of several rows has no order.
_IN_ORDER = (
    sa.select(tables.nodes.c.id)
    .where(tables.nodes.c.id.in_(sa.bindparam('ids')))
    .order_by(tables.nodes.c.id)
    .with_for_update(key_share=True)
)
_RAISE_GENERATIONS = sa.update(tables.nodes).where(tables.nodes.c.id.in_(sa.bindparam('ids')))
_TOUCH = _RAISE_GENERATIONS.values(origins.LOCKED)
_LOCK_ONLY = _RAISE_GENERATIONS.values(generation=tables.nodes.c.generation + 1)


def lock(connection: sa.Connection, node_ids: Sequence[int], changes_nodes: bool = True) -> None:
    """Lock nodes until the end of the transaction (invariant 1).

    :param node_ids: sorted ids.
    :param changes_nodes: whether the nodes get a new time of their last update.
    """
    moment = now()
    for batch in batches(node_ids):
        if connection.dialect.name != 'sqlite':
            connection.execute(_IN_ORDER, {'ids': batch}).all()
        connection.execute(*(_TOUCH, {'ids': batch, 'now': moment}) if changes_nodes else (_LOCK_ONLY, {'ids': batch}))
        change_feed.record_nodes(connection, batch)


def batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield the items in batches of BATCH."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
