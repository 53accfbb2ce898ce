"""Inspections: all facts that a BMC shows of a machine, part by part."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ironic_traits.redfish import hardware, machines, processors, settings
from ironic_traits.redfish.machines import Found, Machine
from ironic_traits.redfish.trees import Reader, Tree, Unreadable

#: {part: function that returns what it found}. The first ones matter most if a BMC has too many documents.
PARTS: Mapping[str, Callable[[Machine], Found]] = {
    'identity': settings.identity,
    'processors': processors.processors,
    'boot mode': settings.boot_mode,
    'secure boot': settings.secure_boot,
    'tpm': settings.tpm,
    'bios': settings.bios,
    'nics': hardware.nics,
    'storage': hardware.storage,
    'memory': hardware.memory,
    'pci': hardware.pci,
    'firmware': hardware.firmware_versions,
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
    for part, read in PARTS.items():
        reader.begin_part()
        try:
            found = read(machine)
        except Unreadable as error:
            result.unread[part] = str(error)
            continue
        _keep(found, result)
        if reader.problems:
            result.unread[part] = ' '.join(reader.problems)
    return result


def _keep(found: Found, result: Inspection) -> None:
    result.inventory.update(found.inventory)
    result.plugin_data['redfish'].update(found.redfish)
    result.plugin_data.update(found.plugin_data)
