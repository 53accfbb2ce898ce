"""Inspection hooks: they derive changes of the node from the data of an inspection, as in Ironic.

The hooks have the names, the options and the effects of Ironic's hooks. [inspection] hooks chooses them. They do not
write: ``inventory.inspection.inspections`` stores their results.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ironic_traits.deploy import base, device_hooks, network_hooks
from ironic_traits.deploy.inspection_data import MAX_NUMBER, is_short_text, number, problems
from ironic_traits.deploy.inspection_findings import Findings, Inspection, invalid
from ironic_traits.matching.facts import NodeFacts

#: Maximum number of characters of an error of the ramdisk in ``last_error``.
_MAX_ERROR = 4096
#: Number of values in a row of the collector extra-hardware: kind, name, key and value.
_ROW = 4


def run(
    options: Any,
    node: str,
    properties: Mapping[str, Any],
    document: Mapping[str, Any],
    before: Mapping[str, Any] = MappingProxyType({}),
) -> Findings:
    """Run the hooks on the data of an inspection.

    :param options: the [inspection] group of ConfigOpts.
    :param node: uuid of the node.
    :param properties: ``properties`` of the node.
    :param document: {'inventory': {…}, 'plugin_data': {…}}.
    :param before: the document of the inspection before, for the hook raid-device; {} if there is none.
    :raises base.WorkFailed: the inspection fails, because the ramdisk reports an error, or the data cannot be used.
    """
    sentences = list(problems(document))
    if sentences:
        raise invalid(node, ' '.join(sentences))
    findings = Findings(dict(properties), dict(document['plugin_data']))
    inspection = Inspection(options, node, document['inventory'], before.get('inventory', {}))
    for name in dict.fromkeys(options.hooks):
        HOOKS[name](inspection, findings)
    return findings


def run_partial(options: Any, node: str, properties: Mapping[str, Any], document: Mapping[str, Any]) -> Findings:
    """Run the hooks on what a BMC shows, as ``run`` does.

    A BMC does not see everything. So no hook fails, and no port is deleted. Empty lists count as missing: a BMC that
    lists no disks does not see them.
    """
    inventory = {key: value for key, value in document['inventory'].items() if value not in ([], {})}
    inspection = Inspection(options, node, inventory)
    findings = Findings(dict(properties), dict(document['plugin_data']))
    for name in dict.fromkeys(options.hooks):
        with contextlib.suppress(base.WorkFailed):
            HOOKS[name](inspection, findings)
    findings.ports = dataclasses.replace(findings.ports, kept=None)
    return findings


def read(options: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of an inspection with what the hooks add to the plugin data. Other hooks do not run.

    :param options: the [inspection] group of ConfigOpts.
    :param document: {'inventory': {…}, 'plugin_data': {…}}. One with ``problems`` stays as it is.
    """
    if any(problems(document)):
        return dict(document)
    findings = Findings({}, dict(document['plugin_data']))
    for name in dict.fromkeys(options.hooks):
        if name in _READERS:
            HOOKS[name](Inspection(options, '', document['inventory']), findings)
    return {**document, 'plugin_data': findings.plugin_data}


def read_facts(options: Any, facts: NodeFacts) -> NodeFacts:
    """Return the facts of a node with what ``read`` adds to their data."""
    document = read(options, {'inventory': facts.inventory, 'plugin_data': facts.plugin_data})
    return dataclasses.replace(facts, plugin_data=document['plugin_data'])


def _ramdisk_error(inspection: Inspection, findings: Findings) -> None:
    if findings.plugin_data.get('error'):
        error = str(findings.plugin_data['error'])
        shown = error if len(error) <= _MAX_ERROR else f'{error[:_MAX_ERROR]}…'
        raise base.WorkFailed(f'Failed to finish inspection: Ramdisk reported error: {shown}')


def _architecture(inspection: Inspection, findings: Findings) -> None:
    cpu = inspection.inventory.get('cpu') or {}
    if not is_short_text(cpu.get('architecture')):
        reason = f'Inventory has malformed or missing CPU architecture information: {cpu or None} for node '
        raise invalid(inspection.node, f'{reason[:500]}{inspection.node}.')
    findings.properties['cpu_arch'] = cpu['architecture']


def _cpus(inspection: Inspection, findings: Findings) -> None:
    count = number((inspection.inventory.get('cpu') or {}).get('count'))
    if count:
        findings.properties['cpus'] = count


def _memory(inspection: Inspection, findings: Findings) -> None:
    megabytes = number((inspection.inventory.get('memory') or {}).get('physical_mb'))
    if megabytes:
        findings.properties['memory_mb'] = megabytes


def _boot_mode(inspection: Inspection, findings: Findings) -> None:
    mode = (inspection.inventory.get('boot') or {}).get('current_boot_mode')
    # With these characters, the mode would be read as several capabilities.
    if is_short_text(mode) and not {',', ':'} & set(mode):
        findings.set_capabilities({'boot_mode': mode})


def _cpu_capabilities(inspection: Inspection, findings: Findings) -> None:
    flags = (inspection.inventory.get('cpu') or {}).get('flags')
    names = flags if isinstance(flags, list) else ()
    mapping = inspection.options.cpu_capabilities
    findings.set_capabilities({mapping[flag]: 'true' for flag in mapping if flag in names})


def _extra_hardware(inspection: Inspection, findings: Findings) -> None:
    """Make an object of the rows of the collector extra-hardware: {kind: {name: {key: value}}}."""
    rows, is_strict = findings.plugin_data.get('data'), inspection.options.extra_hardware_strict
    if 'data' not in findings.plugin_data:
        return
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and (len(row) == _ROW or not is_strict) for row in rows
    ):
        if is_strict:
            del findings.plugin_data['data']
        return
    extra: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if len(row) >= _ROW and all(isinstance(text, str) for text in row[: _ROW - 1]):
            kind, name, key, value = row[:_ROW]
            extra.setdefault(kind, {}).setdefault(name, {})[key] = _as_integer(value)
    del findings.plugin_data['data']
    findings.plugin_data['extra'] = extra


def _as_integer(value: Any) -> Any:
    """Return the integer that a text shows, or the value."""
    try:
        integer = int(value) if isinstance(value, str) else MAX_NUMBER
    except ValueError:
        return value
    return integer if abs(integer) < MAX_NUMBER else value


#: {name in [inspection] hooks: function}.
HOOKS: dict[str, Callable[[Inspection, Findings], None]] = {
    'ramdisk-error': _ramdisk_error,
    'validate-interfaces': network_hooks.validate_interfaces,
    'ports': network_hooks.ports,
    'architecture': _architecture,
    'cpus': _cpus,
    'memory': _memory,
    'root-device': device_hooks.root_device,
    'boot-mode': _boot_mode,
    'cpu-capabilities': _cpu_capabilities,
    'parse-lldp': network_hooks.parse_lldp,
    'local-link-connection': network_hooks.local_link_connection,
    'physical-network': network_hooks.physical_network,
    'pci-devices': device_hooks.pci_devices,
    'accelerators': device_hooks.accelerators,
    'extra-hardware': _extra_hardware,
    'raid-device': device_hooks.raid_device,
}
#: The hooks that only change plugin data, and never fail.
_READERS = ('parse-lldp', 'extra-hardware')
