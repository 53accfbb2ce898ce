"""The clouds that ironic-traits-mirror follows: which process has the turn, the progress of reading, and errors.

Several mirrors may follow the same cloud. One at a time has the turn, a lease by the database's clock. Each write for
the cloud checks the lease in its own transaction. Therefore a process that has lost the lease unnoticed writes nothing.
"""

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, Writer, retried
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import clock, read_clock
from ironic_traits.inventory.core.mirror_claim_states import HELD_HERE_ONLY, OPEN, UNSETTLED
from ironic_traits.matching.sources import MIRROR
from ironic_traits.matching.written_traits import REMOVING, STATES, WRITING, WRITTEN

_CLOUDS, _CONFLICTS, _WRITTEN = tables.mirror_clouds, tables.mirror_conflicts, tables.mirror_written_traits
_CLAIMS, _MISSING, _KEPT = tables.mirror_claims, tables.mirror_missing_nodes, tables.mirror_kept_nodes
#: What an operator confirms.
DELETIONS, WRITES = 'deletions', 'writes'
#: Maximum number of conflicts that are shown of a cloud.
MAX_CONFLICTS = 1000
#: The value of the column for clouds that cannot be read: since the first failure.
FAILING_SINCE = sa.func.coalesce(_CLOUDS.c.failing_since, clock())


class Turn(NamedTuple):
    """The right to write for a cloud. A function that needs it raises TurnLost without it, and writes nothing.

    :ivar cloud: name of the cloud.
    :ivar lease: id of the process that has the turn.
    :ivar seconds: number of seconds for which each write renews the turn.
    """

    cloud: str
    lease: str
    seconds: int

    @property
    def source(self) -> str:
        """The source that holds the traits that nodes have in the cloud."""
        return MIRROR + self.cloud


def owner(origin: str | None) -> str:
    """Return who has a node or an allocation, for messages.

    :param origin: name of its cloud; None for this service.
    """
    return f'Cloud {origin}' if origin else 'This service'


class TurnLost(Exception):
    """Another mirror follows the cloud by now."""


@retried
def take(
    service: Writer, turn: Turn, holder: str, has_ended: Callable[[str], bool] = lambda holder: False
) -> sa.Row | None:
    """Take the turn for a cloud, unless another process has it.

    :param has_ended: function that returns whether a process was killed, given its name. If the process that has the
        turn was killed, this function does not wait for the end of its lease.
    :returns: the row of the cloud; None if another process has the turn.
    """
    columns = _CLOUDS.c
    with service.write() as connection:
        insert_missing(connection, _CLOUDS, [{'name': turn.cloud, 'cursors': {}}])
        moment = read_clock(connection)
        free = [columns.lease.is_(None), columns.lease == turn.lease, columns.leased_until <= moment]
        present = connection.execute(sa.select(columns.holder, columns.lease).where(columns.name == turn.cloud)).one()
        if present.holder and has_ended(present.holder):
            free.append(columns.lease == present.lease)
        until = moment + datetime.timedelta(seconds=turn.seconds)
        statement = sa.update(_CLOUDS).where(columns.name == turn.cloud, sa.or_(*free))
        if not connection.execute(statement.values(lease=turn.lease, leased_until=until, holder=holder)).rowcount:
            return None
        return connection.execute(sa.select(_CLOUDS).where(columns.name == turn.cloud)).one()


@retried
def give_back(service: Writer, turn: Turn) -> None:
    """End the turn, so that another process can take it before the lease ends."""
    columns = _CLOUDS.c
    with service.write() as connection:
        mine = sa.update(_CLOUDS).where(columns.name == turn.cloud, columns.lease == turn.lease)
        connection.execute(mine.values(lease=None, leased_until=None, holder=None))


def renew(connection: sa.Connection, turn: Turn, **values: Any) -> datetime.datetime:
    """Renew the turn, and write to the row of the cloud, which is locked until the end of the transaction.

    :returns: the time by the database's clock.
    """
    columns = _CLOUDS.c
    moment = read_clock(connection)
    until = moment + datetime.timedelta(seconds=turn.seconds)
    mine = sa.update(_CLOUDS).where(columns.name == turn.cloud, columns.lease == turn.lease)
    if not connection.execute(mine.values(leased_until=until, **values)).rowcount:
        raise TurnLost
    return moment


def lock(connection: sa.Connection, cloud: str | None) -> None:
    """Lock the row of a cloud until the end of the transaction, if there is one."""
    connection.execute(sa.update(_CLOUDS).where(_CLOUDS.c.name == cloud).values(name=_CLOUDS.c.name))


@retried
def save(service: Writer, turn: Turn, **values: Any) -> None:
    """Renew the turn, and write to the row of the cloud, in a transaction of its own.

    :param values: {column: value}. ``requests`` is added to the stored number.
    """
    if 'requests' in values:
        values['requests'] = _CLOUDS.c.requests + values['requests']
    with service.write() as connection:
        renew(connection, turn, **values)


def report(
    connection: sa.Connection, turn: Turn, resource: str, checked: Collection[str], reasons: Mapping[str, str]
) -> None:
    """Replace the conflicts of items of a cloud.

    :param connection: connection of a writer that has renewed the turn.
    :param resource: name of the resource, such as ``nodes``.
    :param reasons: {uuid: what conflicts, as a sentence}.
    """
    columns = _CONFLICTS.c
    before = {row.uuid: row.reason for row in connection.execute(_reasons_of(turn.cloud, checked))}
    gone = [uuid for uuid, reason in before.items() if reasons.get(uuid) != reason]
    if gone:
        connection.execute(sa.delete(_CONFLICTS).where(columns.cloud == turn.cloud, columns.uuid.in_(gone)))
    moment = read_clock(connection)
    new = [
        {'cloud': turn.cloud, 'uuid': uuid, 'resource': resource, 'reason': reason, 'since': moment}
        for uuid, reason in reasons.items()
        if before.get(uuid) != reason
    ]
    if new:
        connection.execute(sa.insert(_CONFLICTS), new)


def reported(connection: sa.Connection, cloud: str, uuids: Collection[str]) -> dict[str, str]:
    """Return the conflicts of items of a cloud, {uuid: reason}."""
    return {row.uuid: row.reason for row in connection.execute(_reasons_of(cloud, uuids))}


def _reasons_of(cloud: str, uuids: Collection[str]) -> sa.Select:
    columns = _CONFLICTS.c
    return sa.select(columns.uuid, columns.reason).where(columns.cloud == cloud, columns.uuid.in_(list(uuids)))


def conflicting(context: Reader, cloud: str, after: str, limit: int) -> Sequence[sa.Row]:
    """Return some items of a cloud with conflicts, [row with ``uuid`` and ``resource``, …], sorted by uuid.

    Without the nodes whose uuids are those of other nodes in this service: these conflicts seldom end, and may be many.

    :param after: a uuid; '' to begin.
    """
    columns, nodes = _CONFLICTS.c, tables.nodes
    other = sa.exists().where(nodes.c.uuid == columns.uuid, sa.func.coalesce(nodes.c.origin, '') != cloud)
    statement = sa.select(columns.uuid, columns.resource).where(columns.cloud == cloud, columns.uuid > after, ~other)
    with context.read() as connection:
        return connection.execute(statement.order_by(columns.uuid).limit(limit)).all()


def _number(table: sa.Table, condition: sa.ColumnElement[bool]) -> sa.ScalarSelect:
    return sa.select(sa.func.count()).select_from(table).where(condition).correlate(_CLOUDS).scalar_subquery()


_NODES = tables.nodes
#: Condition on a node of a cloud: an operator has to confirm its deletion.
_IS_MISSING = sa.and_(_MISSING.c.node_id == _NODES.c.id, ~_MISSING.c.confirmed)
#: Condition on a node of a cloud: operators had set something on an earlier node with its uuid.
_IS_OTHER = sa.and_(_KEPT.c.uuid == _NODES.c.uuid, _KEPT.c.node_created_at != _NODES.c.created_at, _KEPT.c.by_operators)


def _nodes(other: sa.Table, condition: sa.ColumnElement[bool]) -> sa.ScalarSelect:
    """Return the number of rows of another table about nodes of a cloud."""
    of_cloud = sa.select(sa.func.count()).select_from(_NODES.join(other, condition))
    return of_cloud.where(_NODES.c.origin == _CLOUDS.c.name).correlate(_CLOUDS).scalar_subquery()


def _written(*states: str) -> sa.ScalarSelect:
    """Return the number of written traits of a cloud in some states."""
    return _number(_WRITTEN, sa.and_(_WRITTEN.c.cloud == _CLOUDS.c.name, _WRITTEN.c.state.in_(states)))


#: All states of written traits but WRITTEN. Nearly all written traits are WRITTEN. The index finds the few others.
_PROBLEMS = [each for each in STATES if each != WRITTEN]
_IS_PROBLEM = sa.and_(
    _WRITTEN.c.cloud == _CLOUDS.c.name, _WRITTEN.c.state.in_(_PROBLEMS), _WRITTEN.c.reason.is_not(None)
)
#: The columns of a cloud in results.
_SHOWN = (
    *(column for column in _CLOUDS.c if column.name not in ('lease', 'cursors')),
    clock().label('now'),
    _number(tables.nodes, tables.nodes.c.origin == _CLOUDS.c.name).label('nodes'),
    (
        _number(_CONFLICTS, _CONFLICTS.c.cloud == _CLOUDS.c.name)
        + _number(_WRITTEN, _IS_PROBLEM)
        + _number(_CLAIMS, sa.and_(_CLAIMS.c.cloud == _CLOUDS.c.name, HELD_HERE_ONLY))
        + _nodes(_MISSING, _IS_MISSING)
        + _nodes(_KEPT, _IS_OTHER)
    ).label('conflicts'),
    _nodes(_MISSING, _IS_MISSING).label('missing_nodes'),
    _written(WRITTEN).label('written_traits'),
    _written(WRITING, REMOVING).label('undecided_writes'),
    _number(_CLAIMS, sa.and_(_CLAIMS.c.cloud == _CLOUDS.c.name, OPEN)).label('claims'),
    _number(_CLAIMS, sa.and_(_CLAIMS.c.cloud == _CLOUDS.c.name, UNSETTLED)).label('unsettled_claims'),
    sa.select(sa.func.min(_CLAIMS.c.created_at))
    .where(_CLAIMS.c.cloud == _CLOUDS.c.name, UNSETTLED)
    .correlate(_CLOUDS)
    .scalar_subquery()
    .label('oldest_unsettled_claim'),
)


def find(context: Reader) -> Sequence[sa.Row]:
    """Return all clouds that a mirror has followed, [row with _SHOWN, …], sorted by name."""
    with context.read() as connection:
        return connection.execute(sa.select(*_SHOWN).order_by(_CLOUDS.c.name)).all()


def get(context: Reader, name: str) -> sa.Row:
    """Return a cloud, as ``find`` does.

    :raises failures.RecordNotFound: no mirror has followed a cloud of this name.
    """
    with context.read() as connection:
        row = connection.execute(sa.select(*_SHOWN).where(_CLOUDS.c.name == name)).first()
        if row is None:
            raise failures.RecordNotFound(what='Mirror', ident=name)
        return row


def conflicts(context: Reader, name: str) -> Sequence[sa.Row]:
    """Return the conflicts of a cloud, [row with ``uuid``, ``resource``, ``trait``, ``reason`` and ``since``, …]."""
    with context.read() as connection:
        ordered = _conflicts(name).order_by('since', 'uuid', 'trait').limit(MAX_CONFLICTS)
        return connection.execute(ordered).all()


def _conflicts(cloud: str) -> sa.CompoundSelect:
    """Return the SELECT of the conflicts of a cloud: of its items, of written traits, and of lost claims."""
    columns, written, nodes = _CONFLICTS.c, _WRITTEN.c, tables.nodes
    no_trait = sa.cast(sa.null(), sa.String(255)).label('trait')
    conflicts = sa.select(columns.uuid, columns.resource, no_trait, columns.reason, columns.since)
    traits = (
        sa.select(nodes.c.uuid, sa.literal_column("'traits'"), written.trait, written.reason, written.since)
        .join(nodes, nodes.c.id == written.node_id)
        .where(written.cloud == cloud, written.state.in_(_PROBLEMS), written.reason.is_not(None))
    )
    claims = _CLAIMS.c
    reason = sa.literal(
        'Another client has removed its instance in the cloud. In Placement of this service, it is allocated to '
    )
    lost = sa.select(
        claims.node_uuid, sa.literal_column("'nodes'"), no_trait, reason + claims.instance_uuid + '.', claims.deadline
    ).where(claims.cloud == cloud, HELD_HERE_ONLY)
    of_node: tuple[sa.ColumnElement, ...] = (_NODES.c.uuid, sa.literal_column("'nodes'"), no_trait)
    gone = sa.select(*of_node, sa.literal(_GONE), _MISSING.c.since).where(_IS_MISSING, _NODES.c.origin == cloud)
    other = sa.select(*of_node, sa.literal(_OTHER), _KEPT.c.deleted_at).where(_IS_OTHER, _NODES.c.origin == cloud)
    return sa.union_all(conflicts.where(columns.cloud == cloud), traits, lost, gone, other)


_GONE = (
    'The cloud no longer shows it. Its deletion in this service waits for you: '
    '"ironic-traits-mirror confirm deletions".'
)
_OTHER = (
    'It was deleted in the cloud, and created again with this uuid: it may be another machine. '
    '"ironic-traits-mirror restore" gives it what operators had set on the node before.'
)


def state(row: sa.Row) -> str:
    """Return the state of a cloud in one word.

    :returns: ``stopped`` if no process follows it, ``failing`` if the last attempt to read it failed, ``reading``
        before the first full pass has ended, ``waiting`` if an operator has to confirm something (``waits_for``), and
        ``following`` otherwise.
    """
    if row.leased_until is None or row.leased_until <= row.now:
        return 'stopped'
    if row.failing_since:
        return 'failing'
    if not row.passed_at:
        return 'reading'
    return 'waiting' if waits_for(row) else 'following'


def waits_for(row: sa.Row) -> list[str]:
    """Return what an operator has to confirm: ``deletions`` of nodes, and ``writes`` of traits in the cloud."""
    writes = [WRITES] if row.passed_at and row.write and row.write != row.confirmed_writes else []
    return ([DELETIONS] if row.missing_nodes else []) + writes


def lag(row: sa.Row) -> float | None:
    """Return the seconds since the time up to which all changes are stored; None before the end of the first pass."""
    return max((row.now - row.current_at).total_seconds(), 0) if row.current_at else None


def summary(context: Reader) -> str:
    """Return a summary of each cloud, joined by "; "; '' without clouds."""
    return '; '.join(map(_sentence, find(context)))


def _sentence(row: sa.Row) -> str:
    seconds, word = lag(row), state(row)
    sentence = f'mirror of {row.name} is {word}, {row.nodes} nodes'
    sentence += '' if seconds is None else f', {seconds:.0f} seconds behind'
    if word == 'failing':
        sentence += f', since {row.failing_since:%Y-%m-%d %H:%M:%S} UTC: {row.last_error}'
    if waiting := waits_for(row):
        sentence += f'; the {" and ".join(waiting)} wait for you: ironic-traits-mirror confirm'
    if row.write_failing_since:
        sentence += f'; it cannot write, since {row.write_failing_since:%Y-%m-%d %H:%M:%S} UTC: {row.write_error}'
    if row.unsettled_claims:
        since = f'{row.oldest_unsettled_claim:%Y-%m-%d %H:%M:%S} UTC'
        sentence += f'; {row.unsettled_claims} of {row.claims} claims are not settled, the oldest of {since}'
    if row.undecided_writes:
        sentence += f'; the result of {row.undecided_writes} trait writes is not known yet'
    return sentence


def now(context: Reader) -> datetime.datetime:
    """Return the time by the database's clock."""
    with context.read() as connection:
        return read_clock(connection)


@retried
def confirm_writes(context: Writer, name: str) -> str:
    """Let the mirror write traits to a cloud, and return which: a value of [mirror] write.

    :raises failures.InvalidState: no mirror has read the whole cloud, or it does not write traits.
    """
    with context.write() as connection:
        lock(connection, name)
        row = connection.execute(sa.select(_CLOUDS).where(_CLOUDS.c.name == name)).first()
        if row is None or not row.passed_at:
            raise failures.InvalidState(reason=f'Cloud {name} has not been read completely yet.')
        if not row.write:
            raise failures.InvalidState(reason=f'[mirror] write is "nothing" for cloud {name}, or no mirror has run.')
        connection.execute(sa.update(_CLOUDS).where(_CLOUDS.c.name == name).values(confirmed_writes=row.write))
        return row.write


def are_writes_confirmed(context: Reader, name: str) -> bool:
    """Whether an operator has confirmed which traits the mirror writes to a cloud."""
    same = sa.select(_CLOUDS.c.name).where(_CLOUDS.c.name == name, _CLOUDS.c.confirmed_writes == _CLOUDS.c.write)
    with context.read() as connection:
        return connection.execute(same).first() is not None
