"""Conductors: the machines with workers. All worker processes of a host are one conductor."""

import dataclasses
import datetime
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Process
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core.read_cache import ReadCache
from ironic_traits.inventory.provisioning import workers

#: Seconds for which a process caches the conductors. Every response with nodes needs them.
MAX_AGE = 2
#: (((driver, conductor group), (name of an alive conductor that has both, …)), …), sorted.
Hosts = tuple[tuple[tuple[str, str], tuple[str, ...]], ...]


@dataclasses.dataclass(frozen=True)
class Conductor:
    """A host with workers.

    :ivar created_at: start of its first worker.
    :ivar updated_at: last heartbeat of its workers.
    :ivar hostname: name of the host.
    :ivar conductor_group: the group whose nodes it works on; '' for the nodes without a group.
    :ivar drivers: sorted names of the drivers that its workers have.
    :ivar alive: whether one of its workers is alive. If so, the other fields describe only the workers that are alive.
    """

    created_at: datetime.datetime
    updated_at: datetime.datetime
    hostname: str
    conductor_group: str
    drivers: list[str]
    alive: bool


class Host(str):
    """The name of a conductor in a filter, with the condition on its nodes."""

    nodes: Condition = sa.false()


class Directory:
    """The conductors that a process knows. ``service.Service`` has one.

    A node belongs to one of the alive conductors that have its driver and its conductor group.
    """

    def __init__(self) -> None:
        self._hosts = ReadCache(_read_hosts, MAX_AGE)
        self.forget = self._hosts.forget

    def column(self, service: Process) -> sa.Label[Any]:
        """Return a column ``conductor`` for a SELECT from nodes: the conductor of the node; NULL if it has none."""
        return _column(self._hosts.get(service))

    def hosts(self, service: Process) -> Hosts:
        """Return the alive conductors by driver and conductor group."""
        return self._hosts.get(service)

    def of_driver(self, service: Process, driver: str) -> list[str]:
        """Return the names of the alive conductors that have a driver, sorted."""
        return sorted({host for (each, _), hosts in self._hosts.get(service) if each == driver for host in hosts})

    def host(self, service: Process, name: str) -> Host:
        """Return the value of the filter of nodes by conductor.

        :param name: the name of the conductor, which need not exist.
        """
        host = Host(name)
        host.nodes = _nodes_of(self._hosts.get(service), name)
        return host


def _read_hosts(service: Process) -> Hosts:
    with service.read() as connection:
        return _hosts(workers.rows(connection, service.conf.deploy, only_alive=True))


def find(service: Process) -> list[Conductor]:
    """Return all conductors whose workers are remembered, in the order in which they were first seen."""
    with service.read() as connection:
        rows = sorted(workers.rows(connection, service.conf.deploy), key=lambda row: row.hostname)
    groups = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.hostname)]
    return [_conductor(group) for group in sorted(groups, key=lambda group: min(row.id for row in group))]


def get(service: Process, hostname: str) -> Conductor:
    """Return a conductor."""
    for conductor in find(service):
        if conductor.hostname == hostname:
            return conductor
    raise failures.ConductorNotFound(conductor=hostname)


def _conductor(rows: list[sa.Row]) -> Conductor:
    rows = [row for row in rows if row.alive] or rows
    newest = max(rows, key=lambda row: row.id)
    return Conductor(
        created_at=min(row.started_at for row in rows),
        updated_at=max(row.heartbeat_at for row in rows),
        hostname=newest.hostname,
        conductor_group=newest.conductor_group,
        drivers=sorted({driver for row in rows for driver in row.drivers}),
        alive=newest.alive,
    )


def _hosts(rows: Sequence[sa.Row]) -> Hosts:
    names: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for driver in row.drivers:
            names.setdefault((driver, row.conductor_group), set()).add(row.hostname)
    return tuple((key, tuple(sorted(hosts))) for key, hosts in sorted(names.items()))


# Cached, so that the same conductors give the same object: SQLAlchemy caches the statements that contain it.
@functools.lru_cache(maxsize=16)
def _column(hosts: Hosts) -> sa.Label[Any]:
    cases = [(_have(*key), _of_node(names)) for key, names in hosts]
    # The mirror stores the conductor of a mirrored node.
    mirrored = (tables.nodes.c.origin.is_not(None), tables.nodes.c.origin_conductor)
    return sa.case(mirrored, *cases).label('conductor')


def _of_node(names: tuple[str, ...]) -> sa.ColumnElement[str]:
    """Return the SQL expression that chooses one of these names, always the same one for a node."""
    if len(names) == 1:
        return sa.literal(names[0])
    return sa.case(dict(enumerate(names)), value=tables.nodes.c.id % len(names))


def _nodes_of(hosts: Hosts, name: str) -> Condition:
    is_own = tables.nodes.c.origin.is_(None)
    conditions = [
        sa.and_(is_own, _have(*key), tables.nodes.c.id % len(names) == names.index(name))
        for key, names in hosts
        if name in names
    ]
    return sa.or_(tables.nodes.c.origin_conductor == name, *conditions)


def _have(driver: str, group: str) -> Condition:
    return sa.and_(tables.nodes.c.driver == driver, tables.nodes.c.conductor_group == group)
