"""Ports: the network interfaces of nodes."""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from ironic_traits import failures, resources
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.deploy import states
from ironic_traits.inventory.core.single_node import take
from ironic_traits.inventory.records.record_kinds import UNUSED, Kind

#: Fields that describe the cabling of a port. They cannot be changed while the node is in use.
_CONNECTIVITY = ('portgroup_uuid', 'pxe_enabled', 'local_link_connection', 'physical_network')
#: Fields that must agree with the port's portgroup.
_MEMBERSHIP = ('portgroup_uuid', 'node_uuid', 'physical_network')


def _decide(connection: sa.Connection, node: sa.Row | None, old: Values | None, new: Values | None) -> None:
    if new is None:
        return
    if new['portgroup_uuid'] and (old is None or _differ(old, new, _MEMBERSHIP)):
        _check_portgroup(connection, new, is_new=old is None)
    if old is None or node is None or node.maintenance:
        return
    if (node.provision_state == states.ACTIVE or node.instance_uuid) and old['address'] != new['address']:
        raise failures.InvalidState(
            reason=f'Cannot update hardware address for port {new["uuid"]} as node {node.uuid} is active or has '
            'instance UUID assigned'
        )
    if node.provision_state not in UNUSED and _differ(old, new, _CONNECTIVITY):
        raise failures.InvalidState(
            reason=f'Port {new["uuid"]} can not have any connectivity attributes ({", ".join(_CONNECTIVITY)}) updated '
            f'unless node {node.uuid} is in a {", ".join(UNUSED)} state or in maintenance mode. The current state is '
            f'{node.provision_state}.'
        )


def _differ(old: Values, new: Values, names: Iterable[str]) -> bool:
    return any(old[name] != new[name] for name in names)


def _check_portgroup(connection: sa.Connection, port: Values, is_new: bool) -> None:
    """Raise a failure unless a port may be in its portgroup.

    This takes the node's lock, so that the portgroup cannot be deleted or moved before the commit.
    """
    try:
        node = take(connection, port['node_uuid'])
    except failures.NodeNotFound as error:
        raise failures.InvalidInput(reason=str(error)) from error
    uuid = port['portgroup_uuid']
    columns = tuple(tables.portgroups.c[name] for name in ('uuid', 'node_uuid', 'standalone_ports_supported'))
    group = connection.execute(sa.select(*columns).where(tables.portgroups.c.uuid == uuid)).first()
    if group is None or group.node_uuid != node.uuid:
        # One message, which does not reveal whether another node has the portgroup.
        reason = f'Portgroup {uuid} could not be found. A port can only join a portgroup of its own node.'
        raise failures.InvalidInput(reason=reason)
    # As in Ironic: this is checked only for a new port whose request sets pxe_enabled, not for later updates.
    if is_new and port['pxe_enabled'] and not group.standalone_ports_supported:
        raise failures.NoStandalonePorts(portgroup=uuid)
    _join_network(connection, port)


def _join_network(connection: sa.Connection, port: Values) -> None:
    """Raise OtherNetwork unless a port has the physical network of its portgroup."""
    columns = tables.ports.c
    others = sa.select(columns.physical_network).where(
        columns.portgroup_uuid == port['portgroup_uuid'], columns.uuid != port['uuid']
    )
    networks = [port['physical_network'], *connection.scalars(others.distinct())]
    check_networks(connection, port['portgroup_uuid'], networks)
    adopt_network(connection, port['portgroup_uuid'], port['physical_network'])


def check_networks(connection: sa.Connection, portgroup: str, networks: Sequence[str | None]) -> None:
    """Raise OtherNetwork unless all ports of a portgroup have the same physical network: that of the portgroup.

    If the portgroup has no network, any will do. None is a network of ports like others.

    :param portgroup: its uuid.
    :param networks: the networks of its ports, first that of a port that changes.
    """
    group = tables.portgroups.c
    own = connection.scalar(sa.select(group.physical_network).where(group.uuid == portgroup))
    network, *others = networks
    for other in others if own is None else (*others, own):
        if other != network:
            raise failures.OtherNetwork(network=network, portgroup=portgroup, others=other)


def adopt_network(connection: sa.Connection, portgroup: str, network: str | None) -> None:
    """Set the physical network of a portgroup that has none to that of its ports, as in Ironic."""
    group = tables.portgroups.c
    condition = sa.and_(group.uuid == portgroup, group.physical_network.is_(None))
    if network is not None:
        connection.execute(sa.update(tables.portgroups).where(condition).values(physical_network=network))


PORTS = Kind(
    resource=resources.PORTS,
    duplicates={'address': 'with MAC address {address}', 'name': 'with name {name}'},
    decide=_decide,
    list_all='baremetal:port:list_all',
    implicit=('pxe_enabled',),
)
