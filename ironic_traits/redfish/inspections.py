"""Inspections: all facts that a BMC shows of a machine, part by part."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ironic_traits.redfish import hardware, machines, processors, settings
from ironic_traits.redfish.machines import Found, Machine
from ironic_traits.redfish.trees import Reader, Tree, Unreadable


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of what a BMC shows.

    :ivar facts: the keys that it fills, of the inventory (``inventory.cpu``), of the plugin data, and of ``redfish``.
    """

    read: Callable[[Machine], Found]
    facts: tuple[str, ...]


#: {name: part}. The first ones matter most if a BMC has too many documents.
PARTS: Mapping[str, Part] = {
    'identity': Part(settings.identity, ('inventory.system_vendor', 'redfish.system', 'redfish.uuid')),
    'processors': Part(processors.processors, ('inventory.cpu', 'redfish.cpu', 'redfish.accelerators')),
    'boot mode': Part(settings.boot_mode, ('inventory.boot',)),
    'secure boot': Part(settings.secure_boot, ('redfish.secure_boot',)),
    'tpm': Part(settings.tpm, ('redfish.tpm',)),
    'bios': Part(settings.bios, ('redfish.bios', 'redfish.switches')),
    'nics': Part(hardware.nics, ('inventory.interfaces',)),
    'storage': Part(hardware.storage, ('inventory.disks',)),
    'memory': Part(hardware.memory, ('inventory.memory', 'redfish.memory')),
    'pci': Part(hardware.pci, ('plugin_data.pci_devices',)),
    'firmware': Part(hardware.firmware_versions, ('redfish.firmware',)),
}


@dataclasses.dataclass(frozen=True)
class Inspection:
    """What a BMC shows of a machine.

    :ivar inventory: the facts that the ramdisk finds, too, in its format.
    :ivar plugin_data: ``pci_devices`` as the ramdisk's collector finds them, and ``redfish`` with all other facts.
    :ivar unread: {part: why it is unknown, or why some of it is}.
    """

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    unread: dict[str, str]

    @property
    def document(self) -> dict[str, Any]:
        """The facts, as rules read them."""
        return {'inventory': self.inventory, 'plugin_data': self.plugin_data}


def systems(tree: Tree) -> list[str]:
    """Return the paths of all Systems of a BMC.

    :raises Unreadable: the BMC does not list them.
    """
    return list(machines.systems(Reader(tree)))


def inspect(tree: Tree, path: str) -> Inspection:
    """Return the facts of the System with a path.

    :raises Unreadable: the System itself cannot be read.
    """
    reader = Reader(tree)
    machine = machines.machine(reader, path)
    result = Inspection({}, {'redfish': {}}, {})
    for name, part in PARTS.items():
        reader.begin_part()
        try:
            found = part.read(machine)
        except Unreadable as error:
            result.unread[name] = str(error)
            continue
        _keep(found, result)
        if reader.problems:
            result.unread[name] = ' '.join(reader.problems)
    return result


def keep_unread(found: Inspection, before: Inspection) -> Inspection:
    """Return what an inspection found; for the parts that it could not read, what an earlier one found."""
    sections = _sections(found)
    for name in found.unread:
        for place in PARTS[name].facts:
            section, _, key = place.partition('.')
            if key in _sections(before)[section]:
                sections[section] = sections[section] | {key: _sections(before)[section][key]}
    plugin_data = sections['plugin_data'] | {'redfish': sections['redfish']}
    return Inspection(sections['inventory'], plugin_data, found.unread)


def _sections(inspection: Inspection) -> dict[str, dict[str, Any]]:
    plugin_data = inspection.plugin_data
    return {
        'inventory': inspection.inventory,
        'plugin_data': plugin_data,
        'redfish': plugin_data['redfish'],
    }


def _keep(found: Found, result: Inspection) -> None:
    result.inventory.update(found.inventory)
    result.plugin_data['redfish'].update(found.redfish)
    result.plugin_data.update(found.plugin_data)
