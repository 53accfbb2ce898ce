"""The history of nodes: an entry for each event, written in the transaction of the event.

An entry belongs to its node by the uuid, so it outlives the node. The entries of a node are inserted under the node's
lock: the order of their ids is that of the events, whatever the clock does.
"""

import datetime
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.context import Context
from ironic_traits.db import tables

#: The types of events, as Ironic's own, and what this service adds.
PROVISIONING, POWER, MAINTENANCE, RESERVATION, NODE, TRAIT = EVENT_TYPES = (
    'provisioning',
    'power',
    'maintenance',
    'reservation',
    'node',
    'trait',
)
INFO, ERROR = 'INFO', 'ERROR'

_INSERT = sa.insert(tables.node_history)


def entry(
    context: Context | None, node_uuid: str, moment: datetime.datetime, event_type: str, event: str, **columns: Any
) -> dict[str, Any]:
    """Return the row of an event.

    :param context: of the request; None for a worker.
    :param moment: time of the event, by the database's clock.
    :param event_type: one of EVENT_TYPES.
    :param event: what happened, as a sentence.
    :param columns: further columns.
    """
    author = {
        'user_id': context.user_id if context else None,
        'project_id': context.project_id if context else None,
        'request_id': context.request_id if context else None,
    }
    return {
        'uuid': uuidutils.generate_uuid(),
        'node_uuid': node_uuid,
        'created_at': moment,
        'event_type': event_type,
        'severity': INFO,
        'event': event,
        **author,
        **columns,
    }


def trait_edit(
    context: Context,
    node_uuid: str,
    moment: datetime.datetime,
    source: str,
    added: Iterable[str],
    removed: Iterable[str],
) -> dict[str, Any]:
    """Return the row of a write of traits.

    :param added: the traits that the node did not have before; may be empty, when only the sources changed.
    :param removed: the traits that the node has no longer.
    """
    added, removed = sorted(added), sorted(removed)
    changes = [f'{verb} {", ".join(names)}' for verb, names in (('added', added), ('removed', removed)) if names]
    event = f'Source {source}: {"; ".join(changes) or "no change of the effective traits"}.'
    return entry(
        *(context, node_uuid, moment, TRAIT, event), source=source, added=','.join(added), removed=','.join(removed)
    )


def record(connection: sa.Connection, *entries: dict[str, Any]) -> None:
    """Insert entries.

    :param connection: of a writer that has taken the locks of their nodes.
    :param entries: rows as ``entry`` returns them, all with the same columns.
    """
    # With one dictionary, SQLAlchemy executes the plain statement, which is quicker than one for many rows.
    connection.execute(_INSERT, entries[0] if len(entries) == 1 else list(entries))
