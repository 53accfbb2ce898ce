"""The network interfaces in the data of an inspection, and the resulting ports, as in Ironic."""

import dataclasses
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from ironic_traits.deploy.inspection_data import is_short_text, normal_mac

#: {name: interface of the inventory, and ``pxe_enabled`` if it is known from which interface the node has booted}.
Interfaces = dict[str, dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class PortChanges:
    """The changes of an inspection to the ports of a node.

    :ivar added: {MAC address: values of a new port} of ports that the node should have.
    :ivar kept: MAC addresses of the ports that stay; None for all.
    :ivar booting: MAC addresses of the ports with ``pxe_enabled``; None to keep the values.
    :ivar client_ids: {MAC address: client id of DHCP}, for the ports whose ``extra`` should have it.
    :ivar links: {MAC address: {key: text}}, for the ports whose ``local_link_connection`` should have these keys. Keys
        that it has stay.
    :ivar networks: {MAC address: physical network that the port should have}.
    """

    added: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    kept: frozenset[str] | None = None
    booting: frozenset[str] | None = None
    client_ids: Mapping[str, str] = dataclasses.field(default_factory=dict)
    links: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    networks: Mapping[str, str] = dataclasses.field(default_factory=dict)


def named(inventory: Mapping[str, Any]) -> Interfaces:
    """Return the interfaces that have a name and a MAC address.

    :param inventory: inventory in the data of an inspection.
    """
    booting = boot_mac(inventory)
    interfaces = {}
    for interface in inventory.get('interfaces') or ():
        name, mac = interface.get('name'), normal_mac(interface.get('mac_address'))
        if isinstance(name, str) and name and mac:
            facts = {'pxe_enabled': mac == booting, 'ipv6_address': _without_scope(interface.get('ipv6_address'))}
            interfaces[name] = {**interface, **facts}
    if not any(interface['pxe_enabled'] for interface in interfaces.values()):
        # Unknown, or not one of them. False for all would mean that the node cannot boot from the network.
        for interface in interfaces.values():
            del interface['pxe_enabled']
    return interfaces


def suitable(inventory: Mapping[str, Any], interfaces: Interfaces, add_ports: str) -> Interfaces:
    """Return the interfaces that get ports.

    :param interfaces: the result of ``named``.
    :param add_ports: [inspection] add_ports.
    """
    booting = boot_mac(inventory)
    return {
        name: dict(interface)
        for name, interface in interfaces.items()
        if not _is_local(name, interface)
        and not (add_ports == 'pxe' and booting and not interface.get('pxe_enabled'))
        and not (add_ports == 'active' and not _address(interface))
    }


def boot_mac(inventory: Mapping[str, Any]) -> str | None:
    """Return the MAC address of the interface from which the node has booted; None if it is not known."""
    text = (inventory.get('boot') or {}).get('pxe_interface')
    # pxelinux writes the hardware type before the address: 01-aa-bb-cc-dd-ee-ff.
    return normal_mac(text.split('-', 1)[1].replace('-', ':') if isinstance(text, str) and '-' in text else text)


def ports(others: PortChanges, options: Any, interfaces: Interfaces, chosen: Interfaces) -> PortChanges:
    """Return the changes to the ports of a node that follow from the interfaces, together with other changes.

    :param others: changes that stay.
    :param options: the [inspection] group of ConfigOpts.
    :param interfaces: the result of ``named``.
    :param chosen: the result of ``suitable``.
    """
    kept = {'all': None, 'present': _macs(interfaces.values()), 'added': _macs(chosen.values())}[options.keep_ports]
    booting = _macs([each for each in interfaces.values() if each.get('pxe_enabled')])
    ids = {normal_mac(each['mac_address']): each.get('client_id') for each in interfaces.values()}
    added = {normal_mac(each['mac_address']): _new_port(each) for each in chosen.values()}
    return dataclasses.replace(
        others,
        added={} if options.add_ports == 'disabled' else {mac: port for mac, port in added.items() if mac},
        kept=kept,
        booting=booting if options.update_pxe_enabled and booting else None,
        client_ids={mac: text for mac, text in ids.items() if mac and text and is_short_text(text)},
    )


def _new_port(interface: Mapping[str, Any]) -> dict[str, Any]:
    client_id = interface.get('client_id')
    extra = {'client-id': client_id} if client_id and is_short_text(client_id) else {}
    return {name: interface[name] for name in ('pxe_enabled',) if name in interface} | {'extra': extra}


def _macs(interfaces: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(mac for each in interfaces if (mac := normal_mac(each['mac_address'])))


def _address(interface: Mapping[str, Any]) -> Any:
    return interface.get('ipv4_address') or interface.get('ipv6_address')


def _is_local(name: str, interface: Mapping[str, Any]) -> bool:
    try:
        return name == 'lo' or ipaddress.ip_address(_address(interface)).is_loopback
    except ValueError:
        return False


def _without_scope(address: Any) -> Any:
    return address.partition('%')[0] if isinstance(address, str) else address
