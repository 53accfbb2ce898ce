"""Finds the node that has sent the data of an inspection, among those that wait for it, as Ironic does.

The data has the MAC addresses of the network interfaces, and the address of the BMC. The ramdisk that sends it is not
authenticated. Therefore a node that does not wait for data is treated as if it did not exist, and the reason is only
logged.
"""

import ipaddress
import logging
import urllib.parse
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import states
from ironic_traits.deploy.inspection_data import InspectionData
from ironic_traits.inventory.core import origins

LOG = logging.getLogger(__name__)

#: Suffix of the keys in ``driver_info`` for addresses of BMCs.
_ADDRESS = '_address'
#: Conditions on the nodes that wait for data. The ramdisk of a mirrored node sends it to the Ironic of its cloud.
_WAITING = (tables.nodes.c.provision_state == states.INSPECTWAIT, origins.OWN)


def find(connection: sa.Connection, data: InspectionData, node_uuid: str | None = None) -> str | None:
    """Return the node that has sent the data of an inspection.

    The addresses must belong to the same node: the MAC address of one node with the BMC of another one is no match.

    :param node_uuid: the uuid in the request; None if it has no uuid.
    :returns: uuid of the node; None if no node, or more than one, waits for this data.
    """
    uuids = _by_macs(connection, data.macs)
    if len(uuids) > 1 or (node_uuid and uuids and uuids != {node_uuid}):
        LOG.info('The data of an inspection names the MAC addresses of several nodes: %s', ', '.join(sorted(uuids)))
        return None
    uuid = node_uuid or next(iter(uuids), None)
    if uuid and not _waits(connection, uuid):
        LOG.info('The data of an inspection is from node %s, which does not wait for it', uuid)
        return None
    by_bmc = _by_bmc(connection, _normal(data.bmc_addresses)) if data.bmc_addresses else set()
    if uuid and by_bmc and uuid not in by_bmc:
        LOG.info('The data of an inspection is from node %s, but names the BMC of %s', uuid, ', '.join(sorted(by_bmc)))
        return None
    if uuid is None and len(by_bmc) != 1:
        LOG.info('The data of an inspection matches none of the nodes that wait, or several of them')
        return None
    return uuid or by_bmc.pop()


def is_expected(connection: sa.Connection) -> bool:
    """Whether any node waits for data."""
    return connection.scalar(sa.select(tables.nodes.c.id).where(*_WAITING).limit(1)) is not None


def bmc_addresses(driver_info: Mapping[str, Any]) -> set[str]:
    """Return the hosts in the addresses of a node's BMC, in lower case. Names are not resolved.

    :param driver_info: ``driver_info`` of the node.
    """
    hosts = set()
    for name, value in driver_info.items():
        # Behind a bridge, all nodes have the address of the bridge.
        is_bridged = name.startswith('ipmi_') and driver_info.get('ipmi_bridging', 'no') != 'no'
        if name.endswith(_ADDRESS) and isinstance(value, str) and not is_bridged:
            hosts.add(_host(value))
    return {host for host in _normal(hosts) if not _is_loopback(host)}


def _by_macs(connection: sa.Connection, macs: Collection[str]) -> set[str]:
    if not macs:
        return set()
    ports = tables.ports.c
    return set(connection.scalars(sa.select(ports.node_uuid).where(ports.address.in_(macs)).distinct()))


def _waits(connection: sa.Connection, uuid: str) -> bool:
    nodes = tables.nodes.c
    return connection.scalar(sa.select(nodes.id).where(nodes.uuid == uuid, *_WAITING)) is not None


def _by_bmc(connection: sa.Connection, addresses: Collection[str]) -> set[str]:
    """Return the uuids of the nodes that wait for data and have one of these BMCs."""
    nodes = tables.nodes.c
    rows = connection.execute(sa.select(nodes.uuid, nodes.driver_info).where(*_WAITING))
    return {row.uuid for row in rows if not bmc_addresses(row.driver_info).isdisjoint(addresses)}


def _host(address: str) -> str:
    if '//' in address:
        try:
            address = urllib.parse.urlsplit(address).hostname or ''
        except ValueError:
            return ''
    return address.strip('[]')


def _normal(addresses: Collection[str]) -> set[str]:
    """Return addresses in normal form, so that equal addresses are equal strings."""
    return {text for address in addresses if (text := _normal_text(address))}


def _normal_text(address: str) -> str:
    try:
        # An address of the ramdisk may name its interface: fe80::1%eth0.
        return str(ipaddress.ip_address(address.partition('%')[0]))
    except ValueError:
        return address.lower()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ('localhost', 'localhost.localdomain')
