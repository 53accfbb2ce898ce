"""Inspection hooks that read the PCI devices and the disks of a node."""

import collections
from collections.abc import Mapping
from typing import Any

from oslo_utils import units

from ironic_traits.deploy import base, root_devices
from ironic_traits.deploy.inspection_data import is_short_text, number
from ironic_traits.deploy.inspection_findings import Findings, Inspection


def root_device(inspection: Inspection, findings: Findings) -> None:
    """Set ``local_gb`` to the size of the root disk.

    :raises base.WorkFailed: no disk is as ``properties.root_device`` says.
    """
    if findings.properties.get('root_device'):
        findings.plugin_data['root_disk'] = _chosen_disk(inspection, findings.properties)
    disk = findings.plugin_data.get('root_disk')
    if disk is None and inspection.inventory.get('disks') is None:
        # The data has no disks. Such data may come from a CMDB.
        return
    size = number(disk.get('size')) if isinstance(disk, dict) else 0
    local_gb = size // units.Gi
    if local_gb and inspection.options.disk_partitioning_spacing:
        local_gb -= 1
    findings.plugin_data['local_gb'] = findings.properties['local_gb'] = local_gb


def _chosen_disk(inspection: Inspection, properties: Mapping[str, Any]) -> Mapping[str, Any]:
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


def raid_device(inspection: Inspection, findings: Findings) -> None:
    """Set ``properties.root_device`` to the one disk that is new since the last inspection."""
    old = _serials(inspection.previous)
    new = [serial for serial in _serials(inspection.inventory) if serial not in old]
    if 'root_device' not in findings.properties and inspection.previous and len(new) == 1:
        findings.properties['root_device'] = {'serial': new[0]}


def _serials(inventory: Mapping[str, Any]) -> list[str]:
    serials = (disk.get('serial') for disk in inventory.get('disks') or ())
    return [serial for serial in serials if serial and is_short_text(serial)]


def pci_devices(inspection: Inspection, findings: Findings) -> None:
    """Set the capability of each configured kind of PCI device to the number of such devices.

    A capability is removed when the devices have gone. In Ironic it stays.
    """
    devices, aliases = _pci_devices(inspection, findings), dict(inspection.options.pci_device_alias or ())
    if devices is not None:
        counts = collections.Counter(aliases[key] for each in devices if (key := _ids(each)) in aliases)
        findings.set_capabilities({name: counts[name] or None for name in aliases.values()})


def accelerators(inspection: Inspection, findings: Findings) -> None:
    """Set ``properties.accelerators`` to the known accelerators among the PCI devices."""
    devices, known = _pci_devices(inspection, findings), inspection.options.known_accelerators
    if devices is not None:
        findings.properties['accelerators'] = [
            known[key] | ({'pci_address': each['bus']} if is_short_text(each.get('bus')) else {})
            for each in devices
            if (key := _ids(each)) in known
        ]


def _pci_devices(inspection: Inspection, findings: Findings) -> list[dict[str, Any]] | None:
    """Return the PCI devices of the node; None if they are not known. A ramdisk sends them beside the inventory."""
    lists = [data.get('pci_devices') for data in (findings.plugin_data, inspection.inventory)]
    known = [each for each in lists if isinstance(each, list)]
    return [device for device in next(filter(None, known), []) if isinstance(device, dict)] if known else None


def _ids(device: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the vendor and the product, in lower case, without 0x."""
    return tuple(str(device.get(name)).lower().removeprefix('0x') for name in ('vendor_id', 'product_id'))
