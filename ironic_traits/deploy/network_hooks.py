"""Inspection hooks that read the network interfaces of a node, and what switches have sent to them."""

import dataclasses
import ipaddress
from collections.abc import Iterator
from typing import Any

from ironic_traits.deploy import inspected_interfaces, lldp
from ironic_traits.deploy.inspection_data import is_short_text, normal_mac
from ironic_traits.deploy.inspection_findings import Findings, Inspection, invalid


def validate_interfaces(inspection: Inspection, findings: Findings) -> None:
    """Add the interfaces that can get ports to the plugin data.

    :raises base.WorkFailed: there are none.
    """
    add_ports = inspection.options.add_ports
    interfaces = inspected_interfaces.named(inspection.inventory)
    if not interfaces:
        raise invalid(inspection.node, 'no valid network interfaces')
    chosen = inspected_interfaces.suitable(inspection.inventory, interfaces, add_ports)
    if not chosen:
        reason = f'no network interfaces match the configuration (add_ports set to "{add_ports}")'
        raise invalid(inspection.node, reason)
    macs = [interface['mac_address'] for interface in chosen.values()]
    findings.plugin_data |= {'all_interfaces': interfaces, 'valid_interfaces': chosen, 'macs': macs}


def ports(inspection: Inspection, findings: Findings) -> None:
    """Add, change and remove ports."""
    interfaces = inspected_interfaces.named(inspection.inventory)
    chosen = inspected_interfaces.suitable(inspection.inventory, interfaces, inspection.options.add_ports)
    findings.ports = inspected_interfaces.ports(findings.ports, inspection.options, interfaces, chosen)


def parse_lldp(inspection: Inspection, findings: Findings) -> None:
    """Add what switches announce to the plugin data, as {interface: {name: value}}."""
    values = {name: lldp.parsed(tlvs) for name, _, tlvs in _tlvs(inspection, findings)}
    values = {name: each for name, each in values.items() if each}
    if values:
        others = findings.plugin_data.get('parsed_lldp')
        findings.plugin_data['parsed_lldp'] = (others if isinstance(others, dict) else {}) | values


def local_link_connection(inspection: Inspection, findings: Findings) -> None:
    """Set what ``local_link_connection`` of ports lacks."""
    links = {mac: lldp.link(tlvs) for _, mac, tlvs in _tlvs(inspection, findings) if mac}
    short = {mac: {key: text for key, text in link.items() if is_short_text(text)} for mac, link in links.items()}
    findings.ports = dataclasses.replace(findings.ports, links=short)


def physical_network(inspection: Inspection, findings: Findings) -> None:
    """Set ``physical_network`` of the ports whose interfaces have addresses in the configured subnets."""
    networks = {}
    for interface in inspected_interfaces.named(inspection.inventory).values():
        mac, network = normal_mac(interface['mac_address']), _network(inspection.options, interface)
        if mac and network:
            networks[mac] = network
    findings.ports = dataclasses.replace(findings.ports, networks=networks)


def _network(options: Any, interface: dict[str, Any]) -> str | None:
    for key in ('ipv4_address', 'ipv6_address'):
        try:
            address = ipaddress.ip_address(str(interface.get(key)))
        except ValueError:
            continue
        for subnet, network in options.physical_network_cidr_map:
            if address in subnet:
                return network
    return None


def _tlvs(inspection: Inspection, findings: Findings) -> Iterator[tuple[str, str | None, Any]]:
    """Yield (name, MAC address or None, TLVs) of the interfaces. Older ramdisks send the TLVs as ``lldp_raw``."""
    raw = findings.plugin_data.get('lldp_raw')
    for interface in inspection.inventory.get('interfaces') or ():
        name = interface.get('name')
        if isinstance(name, str) and name:
            tlvs = raw.get(name) if isinstance(raw, dict) else None
            yield name, normal_mac(interface.get('mac_address')), tlvs or interface.get('lldp')
