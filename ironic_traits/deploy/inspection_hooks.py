"""Inspection hooks: they derive changes of the node from the data of an inspection, as in Ironic.

The hooks have the names, the options and the effects of Ironic's hooks. [inspection] hooks chooses them. They do not
write: ``inventory.inspections`` stores their results.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from oslo_utils import units

from ironic_traits.deploy import base, inspected_interfaces, root_devices
from ironic_traits.deploy.inspected_interfaces import Ports
from ironic_traits.deploy.inspection_data import is_short_text, problems

_MAX_NUMBER = 2**53
#: Maximum number of characters of an error of the ramdisk in ``last_error``.
_MAX_ERROR = 4096


@dataclasses.dataclass
class Findings:
    """The results of the hooks.

    :ivar properties: the node's ``properties``, with the values that the hooks have set.
    :ivar plugin_data: the plugin data of the inspection, with the additions of the hooks.
    :ivar ports: the changes to the ports of the node.
    """

    properties: dict[str, Any]
    plugin_data: dict[str, Any]
    ports: Ports = dataclasses.field(default_factory=Ports)


@dataclasses.dataclass(frozen=True)
class _Inspection:
    """An inspection whose data the hooks read.

    :ivar options: the [inspection] group of ConfigOpts.
    :ivar node: uuid of the node.
    """

    options: Any
    node: str
    inventory: Mapping[str, Any]


def run(options: Any, node: str, properties: Mapping[str, Any], document: Mapping[str, Any]) -> Findings:
    """Run the hooks on the data of an inspection.

    :param options: the [inspection] group of ConfigOpts.
    :param node: uuid of the node.
    :param properties: ``properties`` of the node.
    :param document: {'inventory': {…}, 'plugin_data': {…}}.
    :raises base.WorkFailed: the inspection fails, because the ramdisk reports an error, or the data cannot be used.
    """
    sentences = list(problems(document))
    if sentences:
        raise invalid(node, ' '.join(sentences))
    findings = Findings(dict(properties), dict(document['plugin_data']))
    inspection = _Inspection(options, node, document['inventory'])
    for name in options.hooks:
        HOOKS[name](inspection, findings)
    return findings


def invalid(node: str, reason: str) -> base.WorkFailed:
    """Return the failure of an inspection whose data cannot be used.

    :param node: uuid of the node.
    """
    return base.WorkFailed(f'Failed to finish inspection: Inventory for node {node} is invalid: {reason}')


def _ramdisk_error(inspection: _Inspection, findings: Findings) -> None:
    if findings.plugin_data.get('error'):
        error = str(findings.plugin_data['error'])
        shown = error if len(error) <= _MAX_ERROR else f'{error[:_MAX_ERROR]}…'
        raise base.WorkFailed(f'Failed to finish inspection: Ramdisk reported error: {shown}')


def _validate_interfaces(inspection: _Inspection, findings: Findings) -> None:
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


def _ports(inspection: _Inspection, findings: Findings) -> None:
    interfaces = inspected_interfaces.named(inspection.inventory)
    chosen = inspected_interfaces.suitable(inspection.inventory, interfaces, inspection.options.add_ports)
    findings.ports = inspected_interfaces.ports(inspection.options, interfaces, chosen)


def _architecture(inspection: _Inspection, findings: Findings) -> None:
    cpu = inspection.inventory.get('cpu') or {}
    if not is_short_text(cpu.get('architecture')):
        reason = f'Inventory has malformed or missing CPU architecture information: {cpu or None} for node '
        raise invalid(inspection.node, f'{reason[:500]}{inspection.node}.')
    findings.properties['cpu_arch'] = cpu['architecture']


def _cpus(inspection: _Inspection, findings: Findings) -> None:
    count = _number((inspection.inventory.get('cpu') or {}).get('count'))
    if count:
        findings.properties['cpus'] = count


def _memory(inspection: _Inspection, findings: Findings) -> None:
    megabytes = _number((inspection.inventory.get('memory') or {}).get('physical_mb'))
    if megabytes:
        findings.properties['memory_mb'] = megabytes


def _root_device(inspection: _Inspection, findings: Findings) -> None:
    if findings.properties.get('root_device'):
        findings.plugin_data['root_disk'] = _chosen_disk(inspection, findings.properties)
    disk = findings.plugin_data.get('root_disk')
    if disk is None and inspection.inventory.get('disks') is None:
        # The data has no disks. Such data may come from a CMDB.
        return
    size = _number(disk.get('size')) if isinstance(disk, dict) else 0
    local_gb = size // units.Gi
    if local_gb and inspection.options.disk_partitioning_spacing:
        local_gb -= 1
    findings.plugin_data['local_gb'] = findings.properties['local_gb'] = local_gb


def _chosen_disk(inspection: _Inspection, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    hints = properties['root_device']
    try:
        disk = root_devices.choose(inspection.inventory.get('disks') or (), properties)
    except root_devices.InvalidHints as error:
        raise base.WorkFailed(
            f'Failed to finish inspection: No disks could be found using root device hints {hints} for node '
            f'{inspection.node} because they failed to validate. Error: {error}'
        ) from error
    if disk is None:
        reason = f'No disks satisfied root device hints for node {inspection.node}'
        raise base.WorkFailed(f'Failed to finish inspection: {reason}')
    return disk


def _boot_mode(inspection: _Inspection, findings: Findings) -> None:
    mode = (inspection.inventory.get('boot') or {}).get('current_boot_mode')
    # With these characters, the mode would be read as several capabilities.
    if is_short_text(mode) and not {',', ':'} & set(mode):
        _set_capabilities(findings, {'boot_mode': mode})


def _cpu_capabilities(inspection: _Inspection, findings: Findings) -> None:
    flags = (inspection.inventory.get('cpu') or {}).get('flags')
    names = flags if isinstance(flags, list) else ()
    mapping = inspection.options.cpu_capabilities
    _set_capabilities(findings, {mapping[flag]: 'true' for flag in mapping if flag in names})


def _set_capabilities(findings: Findings, capabilities: Mapping[str, str]) -> None:
    pairs = (pair.partition(':') for pair in str(findings.properties.get('capabilities') or '').split(',') if pair)
    merged = {name: value for name, _, value in pairs} | dict(capabilities)
    if capabilities:
        findings.properties['capabilities'] = ','.join(f'{name}:{value}' for name, value in merged.items())


def _number(value: Any) -> int:
    """Return a number of the inventory; 0 for another type of value, and for a number out of range."""
    try:
        number = int(value)
    except (OverflowError, TypeError, ValueError):
        return 0
    return number if 0 < number < _MAX_NUMBER else 0


#: {name in [inspection] hooks: function}.
HOOKS: dict[str, Callable[[_Inspection, Findings], None]] = {
    'ramdisk-error': _ramdisk_error,
    'validate-interfaces': _validate_interfaces,
    'ports': _ports,
    'architecture': _architecture,
    'cpus': _cpus,
    'memory': _memory,
    'root-device': _root_device,
    'boot-mode': _boot_mode,
    'cpu-capabilities': _cpu_capabilities,
}
