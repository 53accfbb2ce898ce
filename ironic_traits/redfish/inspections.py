"""Inspections: all facts that a BMC shows of a machine, part by part."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ironic_traits.redfish import hardware, machines, processors, settings
from ironic_traits.redfish.machines import Found, Machine
from ironic_traits.redfish.trees import Reader, Tree, Unreadable, text


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of what a BMC shows.

    :ivar facts: the keys that it fills, of the inventory (``inventory.cpu``), and of the plugin data.
    """

    read: Callable[[Machine], Found]
    facts: tuple[str, ...]


_OWN = 'plugin_data.redfish'
#: {name: part}. The first ones matter most if a BMC has too many documents.
PARTS: Mapping[str, Part] = {
    'identity': Part(settings.identity, ('inventory.system_vendor', f'{_OWN}.system', f'{_OWN}.uuid')),
    'processors': Part(processors.processors, ('inventory.cpu', f'{_OWN}.cpu', f'{_OWN}.accelerators')),
    'boot mode': Part(settings.boot_mode, ('inventory.boot',)),
    'secure boot': Part(settings.secure_boot, (f'{_OWN}.secure_boot',)),
    'tpm': Part(settings.tpm, (f'{_OWN}.tpm',)),
    'bios': Part(settings.bios, (f'{_OWN}.bios', f'{_OWN}.switches')),
    'nics': Part(hardware.nics, ('inventory.interfaces',)),
    'adapters': Part(hardware.adapters, (f'{_OWN}.adapters',)),
    'storage': Part(hardware.storage, ('inventory.disks',)),
    'memory': Part(hardware.memory, ('inventory.memory', f'{_OWN}.memory')),
    'pci': Part(hardware.pci, ('plugin_data.pci_devices',)),
    'firmware': Part(hardware.firmware_versions, (f'{_OWN}.firmware',)),
}


@dataclasses.dataclass(frozen=True)
class Inspection:
    """What a BMC shows of a machine.

    :ivar inventory: the facts that the ramdisk finds, too, in its format.
    :ivar plugin_data: ``pci_devices`` as the ramdisk's collector finds them, and ``redfish`` with all other facts.
    :ivar unread: {part: why it is unknown, or why some of it is}.
    :ivar hidden: the parts of which the BMC shows nothing, while the machine is off.
    """

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    unread: dict[str, str]
    hidden: list[str] = dataclasses.field(default_factory=list)

    @property
    def document(self) -> dict[str, Any]:
        """The facts, as rules read them."""
        return {'inventory': self.inventory, 'plugin_data': self.plugin_data}

    @property
    def unknown(self) -> tuple[str, ...]:
        """Where the facts of the parts that could not be read have their places: ``inventory.cpu``."""
        return tuple(place for name in (*self.unread, *self.hidden) for place in PARTS[name].facts)


def machine_paths(tree: Tree) -> list[str]:
    """Return the paths of the Systems that are machines of their own: not the trays of others.

    :raises Unreadable: the BMC does not list its Systems, or has none.
    """
    if paths := machines.own(Reader(tree)):
        return paths
    raise Unreadable('The BMC has no System.')


def inspect(tree: Tree, path: str) -> Inspection:
    """Return the facts of the System with a path.

    :raises Unreadable: the System itself cannot be read.
    """
    reader = Reader(tree)
    machine = machines.machine(reader, path)
    result = Inspection({}, {'redfish': {}}, {})
    is_running = text(machine.system, 'PowerState') == 'On'
    for name, part in PARTS.items():
        reader.begin_part()
        try:
            found = part.read(machine)
        except Unreadable as error:
            result.unread[name] = ' '.join(reader.problems) or str(error)
            continue
        if not is_running and found.is_empty:
            result.hidden.append(name)
        _keep(found, result)
        if reader.problems:
            result.unread[name] = ' '.join(reader.problems)
    return result


def _keep(found: Found, result: Inspection) -> None:
    result.inventory.update(found.inventory)
    result.plugin_data['redfish'].update(found.redfish)
    result.plugin_data.update(found.plugin_data)
