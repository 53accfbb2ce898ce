"""Capacity reservations: promises of a number of nodes that match a request, for a project.

``promised_nodes`` keeps the nodes for them. Nothing is chosen, and there are no dates in the future: a promise begins
when it is created.
"""

import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Columns
from ironic_traits.db.statements.types import read_clock, statement_clock
from ironic_traits.inventory.core import eligibility, node_selection
from ironic_traits.inventory.core.paging import Page, Rows, fetch
from ironic_traits.inventory.holds import promised_nodes
from ironic_traits.inventory.holds.promise_claims import Stale
from ironic_traits.inventory.holds.promised_nodes import LIVE
from ironic_traits.matching.topology import AFFINITY
from ironic_traits.uuids import canonical

_TABLE = tables.capacity_reservations
_COLUMNS = tuple(_TABLE.c)
_EXPIRED = _TABLE.c.expires_at <= statement_clock()


class Kept(NamedTuple):
    """How far a capacity reservation is used, and can be kept.

    :ivar used: number of nodes that are held for it.
    :ivar left: number of nodes that it still has a right to.
    :ivar short: how many of these it cannot get, even if nobody else takes a node.
    :ivar free: number of free nodes that match it.
    """

    name: str
    used: int
    left: int
    short: int
    free: int


class NewPromise(NamedTuple):
    """A capacity reservation that a client requests.

    :ivar requirements: arguments of ``matching.requests.understand``.
    :ivar filters: {filter: value}, as for ``node_filters.conditions``.
    :ivar keys: keys of a topology. For each of them, all nodes are in one group.
    """

    name: str
    project: str
    number: int
    expires_at: datetime.datetime | None
    requirements: Mapping[str, Any]
    filters: Mapping[str, Any]
    keys: Sequence[str] = ()


def create(context: Context, promise: NewPromise) -> sa.Row:
    """Create a capacity reservation. If it has keys, choose their groups, which stay the same from then on.

    :raises failures.CapacityInsufficient: not so many nodes are free beside those that others have a right to.
    :raises failures.RecordExists: there is one with the name.
    :raises failures.InvalidInput: the expiry is in the past.
    """
    document: dict[str, Any] = {'requirements': promise.requirements, 'filters': promise.filters}
    if promise.keys:
        document['topology'] = [{'key': key, 'policy': AFFINITY} for key in promise.keys]
    values = {
        'uuid': uuidutils.generate_uuid(),
        'name': promise.name,
        'project': promise.project,
        'number': promise.number,
        'expires_at': promise.expires_at,
        'request': json.dumps(document),
    }
    while True:
        nodes, cell = promised_nodes.read_with(context, values)
        kept, free = nodes.kept()[promised_nodes.NEW], nodes.by_id[promised_nodes.NEW].free.bit_count()
        if kept < promise.number:
            _check_new(context, promise)
            where = ', in the best group' if promise.keys else ''
            raise failures.CapacityInsufficient(number=promise.number, where=where, free=free, others=free - kept)
        in_groups = {'groups': dict(zip(promise.keys, cell, strict=True))} if promise.keys else {}
        try:
            return _insert(context, values | {'request': json.dumps(document | in_groups)}, nodes)
        except Stale:
            continue
        except db_exception.DBDuplicateEntry as error:
            raise _exists(promise.name) from error


def _check_new(context: Context, promise: NewPromise) -> None:
    """Raise the failure that tells more than that there are not enough nodes: a repeated request has them already.

    :raises failures.RecordExists: there is one with the name.
    :raises failures.InvalidInput: the expiry is in the past.
    """
    with context.read() as connection:
        _check_expiry(connection, promise.expires_at)
        if connection.scalar(sa.select(sa.exists().where(_TABLE.c.name == promise.name, LIVE))):
            raise _exists(promise.name)


def _exists(name: str) -> failures.RecordExists:
    return failures.RecordExists(what='capacity reservation', key=f'with name {name}')


def _check_expiry(connection: sa.Connection, expires_at: datetime.datetime | None) -> datetime.datetime:
    """Return the time of the database, if it is not after an expiry.

    :raises failures.InvalidInput: it is.
    """
    moment = read_clock(connection)
    if expires_at and expires_at <= moment:
        raise failures.InvalidInput(reason="'expires_at' is in the past.")
    return moment


@retried
def _insert(context: Context, values: dict[str, Any], nodes: promised_nodes.PromisedNodes) -> sa.Row:
    """Insert a capacity reservation.

    :raises Stale: other capacity reservations, or the nodes that could keep all of them, have changed.
    """
    # Transactions that have begun before the first promise do not know it. They cannot take these nodes any more.
    ids = sorted(nodes.sufficient(promised_nodes.NEW))
    with context.write() as connection:
        node_selection.lock(connection, ids, changes_nodes=False)
        for batch in node_selection.batches(ids):
            free = sa.select(tables.nodes.c.id).where(tables.nodes.c.id.in_(batch), eligibility.ELIGIBLE)
            if len(connection.execute(free).all()) < len(batch):
                raise Stale
        # One after the other, also if there are no others to lock: the newest one has the highest id.
        change_feed.take_number(connection)
        others = sa.select(_TABLE.c.id).where(LIVE).order_by(_TABLE.c.id).with_for_update()
        if set(connection.scalars(others)) != nodes.by_id.keys() - {promised_nodes.NEW}:
            raise Stale
        moment = _check_expiry(connection, values['expires_at'])
        connection.execute(sa.delete(_TABLE).where(_EXPIRED))
        connection.execute(sa.insert(_TABLE).values(created_at=moment, **values))
        return _read(connection, values['uuid'], _COLUMNS)


def find(context: Context, project: str | None, page: Page) -> Rows:
    """List capacity reservations.

    :param project: only those of this project; None for all.
    :raises failures.CapacityReservationNotFound: the marker is not one of them.
    """
    of_project = [_TABLE.c.project == project] if project is not None else []
    with context.read() as connection:
        marker = functools.partial(_read, connection, conditions=of_project)
        return fetch(connection, sa.select(_TABLE).where(LIVE, *of_project), _TABLE, page, marker)


def get(context: Context, ident: str) -> sa.Row:
    """Return a capacity reservation.

    :param ident: uuid or name.
    :raises failures.CapacityReservationNotFound: there is none, or it has expired.
    """
    with context.read() as connection:
        return _read(connection, ident, _COLUMNS)


@retried
def delete(context: Context, uuid: str) -> None:
    """Delete a capacity reservation. The nodes that are held for it stay held.

    :raises failures.CapacityReservationNotFound: there is none, or it has expired.
    """
    with context.write() as connection:
        if not connection.execute(sa.delete(_TABLE).where(_TABLE.c.uuid == uuid, LIVE)).rowcount:
            raise failures.CapacityReservationNotFound(ident=uuid)


def document(row: sa.Row) -> dict[str, Any]:
    """Return the request of a capacity reservation, with the keys of /v1/matches."""
    stored = json.loads(row.request)
    policies = {'topology': stored['topology']} if 'topology' in stored else {}
    return stored['requirements'] | stored['filters'] | policies


def groups(row: sa.Row) -> dict[str, str]:
    """Return the groups that all nodes of a capacity reservation are in, {key: group}."""
    found: dict[str, str] = json.loads(row.request).get('groups', {})
    return found


def kept(context: Any) -> dict[str, Kept]:
    """Return how far the capacity reservations can be kept now, {uuid: Kept}.

    :param context: a Context or a Service.
    """
    nodes = promised_nodes.read(context)
    numbers = nodes.kept()
    return {
        promise.uuid: Kept(
            promise.name, promise.used, promise.left, promise.left - numbers[promise.id], promise.free.bit_count()
        )
        for promise in nodes.by_id.values()
    }


def _read(
    connection: sa.Connection, ident: str, columns: Columns, conditions: Sequence[sa.ColumnElement[bool]] = ()
) -> sa.Row:
    key = _TABLE.c.uuid if uuidutils.is_uuid_like(ident) else _TABLE.c.name
    row = connection.execute(sa.select(*columns).where(key == canonical(ident), LIVE, *conditions)).first()
    if row is None:
        raise failures.CapacityReservationNotFound(ident=ident)
    return row
