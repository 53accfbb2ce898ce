"""The inspection data of mirrored nodes, as ironic-traits-mirror has read it from their cloud.

The inspection rules of this service run on it. They change only traits and mismatches, as always when no inspection
ends in this service.
"""

import datetime
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.deploy import inspection_hooks
from ironic_traits.deploy.inspection_data import InspectionData
from ironic_traits.inventory.inspection import node_inventories, rule_runs
from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.records import inspection_rules

_TABLE = tables.mirror_inspections
_NODES = tables.nodes


class CloudInspection(NamedTuple):
    """An inspection of a mirrored node.

    :ivar uuid: uuid of the node.
    :ivar finished_at: when the inspection ended, by the clock of the cloud.
    """

    uuid: str
    finished_at: datetime.datetime


def unread(context: Context, cloud: str, limit: int) -> list[CloudInspection]:
    """Return inspections whose data is not stored yet, in the order of the ids of their nodes."""
    statement = (
        sa.select(_NODES.c.uuid, _NODES.c.inspection_finished_at)
        .outerjoin(_TABLE, _TABLE.c.node_id == _NODES.c.id)
        .where(
            _NODES.c.origin == cloud,
            _NODES.c.inspection_finished_at.is_not(None),
            sa.or_(_TABLE.c.node_id.is_(None), _TABLE.c.finished_at != _NODES.c.inspection_finished_at),
        )
        .order_by(_NODES.c.id)
        .limit(limit)
    )
    with context.read() as connection:
        return [CloudInspection(*row) for row in connection.execute(statement)]


@retried
def store(context: Context, turn: Turn, inspection: CloudInspection, data: InspectionData | None) -> None:
    """Store the data of an inspection, and run the rules on it.

    :param data: None if the cloud has no data. Then only the end of the inspection is stored, so that the data is not
        requested again.
    """
    with context.write() as connection:
        moment = mirror_clouds.renew(connection, turn)
        node = mirrored_nodes.take_many(connection, [inspection.uuid]).get(inspection.uuid)
        if node is None or node.origin != turn.cloud:
            return
        connection.execute(sa.delete(_TABLE).where(_TABLE.c.node_id == node.id))
        connection.execute(sa.insert(_TABLE).values(node_id=node.id, finished_at=inspection.finished_at))
        if data is not None:
            document = inspection_hooks.read(context.conf.inspection, data.document)
            node_inventories.store(connection, node.id, document, moment)
            rules = inspection_rules.in_force(context.service, connection)
            rule_runs.run(context, connection, node, document, rules, whole=False)
