"""What this service has written to clouds: traits, and the instances of claims.

While a node is mirrored, ``mirror_written_traits`` and ``mirror_claims`` have it. When that ends, what may still be in
the cloud is kept in this service, without a reference to the node. A node that returns within [mirror] keep_deleted
gets back the records of its traits.
"""

import datetime

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.inventory.core.mirror_claim_states import LOST
from ironic_traits.matching.written_traits import OURS, WRITTEN

_LEFT, _NODES = tables.mirror_leftovers, tables.nodes
_TRAITS, _CLAIMS = tables.mirror_written_traits, tables.mirror_claims
TRAIT, INSTANCE = 'trait', 'instance'


def keep(connection: sa.Connection, node: sa.Row, deleted_at: datetime.datetime | None = None) -> None:
    """Keep what may be left in the cloud of a node that will no longer be mirrored.

    :param node: row with ``id``, ``uuid`` and ``origin``.
    :param deleted_at: the time now, if the cloud no longer shows the node; None for a command.
    """
    written = _written(_TRAITS.c.node_id == node.id, _CLAIMS.c.node_uuid == node.uuid)
    rows = [{**row, 'deleted_at': deleted_at} for row in connection.execute(written).mappings()]
    insert_missing(connection, _LEFT, rows)


def _written(traits: sa.ColumnElement[bool], claims: sa.ColumnElement[bool]) -> sa.CompoundSelect:
    """Return the SELECT of what was written to nodes that are mirrored."""
    of_traits = sa.select(
        _TRAITS.c.cloud,
        _NODES.c.uuid.label('node_uuid'),
        sa.literal(TRAIT).label('kind'),
        _TRAITS.c.trait.label('item'),
    )
    of_claims = sa.select(_CLAIMS.c.cloud, _CLAIMS.c.node_uuid, sa.literal(INSTANCE), _CLAIMS.c.instance_uuid)
    return sa.union(
        of_traits.join(_NODES, _NODES.c.id == _TRAITS.c.node_id).where(traits, _TRAITS.c.state.in_(OURS)),
        # Another client has removed the instance of a lost claim in the cloud.
        of_claims.where(claims, _CLAIMS.c.state != LOST),
    )


def put_back(connection: sa.Connection, node: sa.Row) -> None:
    """Restore the records of the traits that were written to a node, which has returned.

    :param node: row with ``id``, ``uuid`` and ``moment``.
    """
    cloud = sa.select(_NODES.c.origin).where(_NODES.c.id == node.id).scalar_subquery()
    same = _LEFT.c.cloud == cloud, _LEFT.c.node_uuid == node.uuid, _LEFT.c.kind == TRAIT
    record = {'node_id': node.id, 'state': WRITTEN, 'since': node.moment}
    rows = connection.execute(sa.select(_LEFT.c.cloud, _LEFT.c.item.label('trait')).where(*same)).mappings()
    insert_missing(connection, _TRAITS, [{**row, **record} for row in rows])
    connection.execute(sa.delete(_LEFT).where(*same))


def forget(connection: sa.Connection, cloud: str, uuid: str) -> None:
    """Forget what was written to a node, because the cloud has another node with its uuid."""
    connection.execute(sa.delete(_LEFT).where(_LEFT.c.cloud == cloud, _LEFT.c.node_uuid == uuid))


def find(context: Reader, cloud: str) -> dict[str, dict[str, set[str]]]:
    """Return what this service has written to a cloud, and may be left.

    :returns: {uuid of a node: {TRAIT or INSTANCE: names of traits, or uuids of instances}}.
    """
    left = sa.select(_LEFT.c.cloud, _LEFT.c.node_uuid, _LEFT.c.kind, _LEFT.c.item).where(_LEFT.c.cloud == cloud)
    found: dict[str, dict[str, set[str]]] = {}
    with context.read() as connection:
        for statement in (_written(_TRAITS.c.cloud == cloud, _CLAIMS.c.cloud == cloud), left):
            for _, uuid, kind, item in connection.execute(statement):
                found.setdefault(uuid, {TRAIT: set(), INSTANCE: set()})[kind].add(item)
    return found
