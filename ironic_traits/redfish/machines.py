"""Machines: the Systems of a BMC, and which of them belong together."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ironic_traits.redfish.trees import ROOT, Reader, Unreadable, inner, link, objects, text

#: What a System has that can boot.
_OWN = ('Bios', 'Boot', 'BiosVersion', 'EthernetInterfaces', 'Storage', 'SimpleStorage')
#: Maximum number of chassis above a chassis.
_MAX_HEIGHT = 8


@dataclasses.dataclass
class Found:
    """What a part found.

    :ivar inventory: what has a place in the ramdisk's inventory.
    :ivar redfish: what has none.
    :ivar plugin_data: what collectors of the ramdisk find, in their format.
    """

    inventory: dict[str, Any] = dataclasses.field(default_factory=dict)
    redfish: dict[str, Any] = dataclasses.field(default_factory=dict)
    plugin_data: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether it found nothing, or only empty lists."""
        return not any(value for each in (self.inventory, self.redfish, self.plugin_data) for value in each.values())


@dataclasses.dataclass(frozen=True)
class Machine:
    """A System, and others of the BMC that belong to the same machine: the trays of a host, or the host of a tray.

    Two Systems that can boot are two machines. NVIDIA's BMCs do not link the chassis of the tray to that of the host:
    if only one System can boot, the others are a part of it.

    :ivar path: the path of the System.
    """

    reader: Reader
    path: str
    system: Mapping[str, Any]
    trays: tuple[Mapping[str, Any], ...] = ()

    @property
    def systems(self) -> tuple[Mapping[str, Any], ...]:
        """The System, and the trays."""
        return (self.system, *self.trays)


def systems(reader: Reader) -> dict[str, Mapping[str, Any]]:
    """Return {path: System} of all Systems of a BMC.

    :raises Unreadable: the BMC does not list them.
    """
    root = {'Systems': {'@odata.id': f'{ROOT}/Systems'}}
    return {path.rstrip('/'): _complete(system) for path, system in reader.members(root, 'Systems')}


def own(reader: Reader) -> list[str]:
    """Return the paths of the Systems that are machines of their own: all but the trays of others.

    :raises Unreadable: the BMC does not list its Systems.
    """
    every = systems(reader)
    hosts = [path for path, document in every.items() if _can_boot(document)]
    trays = [tray for path in hosts for tray in machine(reader, path).trays]
    return [path for path, document in every.items() if document not in trays]


def machine(reader: Reader, path: str) -> Machine:
    """Return the machine of a System.

    :raises Unreadable: the System cannot be read.
    """
    path = path.rstrip('/')
    system = _complete(reader.get(path))
    if all(name.startswith('@') for name in system):
        raise Unreadable('The BMC shows a System without anything in it.')
    try:
        every = systems(reader)
    except Unreadable:
        every = {path: system}
    hosts = [other for other, document in every.items() if _can_boot(document)]
    chassis = _chassis(reader, system)
    trays = [
        document
        for other, document in every.items()
        if other != path
        and (path not in hosts or other not in hosts)
        and (len(hosts) == 1 or chassis & _chassis(reader, document))
    ]
    return Machine(reader, path, system, tuple(trays))


def _complete(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return a System with the links that iLO has among its own. iLO 4 has that of the BIOS there."""
    links = {**inner(system, 'Oem', 'Hp', 'Links'), **inner(system, 'Oem', 'Hpe', 'Links')}
    return {name.replace('BIOS', 'Bios'): value for name, value in links.items()} | dict(system)


def _can_boot(system: Mapping[str, Any]) -> bool:
    return bool(system.keys() & set(_OWN))


def _chassis(reader: Reader, system: Mapping[str, Any]) -> set[str]:
    """Return the paths of the chassis of a System, and of those in which they are."""
    found: set[str] = set()
    above = [text(each, '@odata.id') for each in objects(inner(system, 'Links').get('Chassis'))]
    for _ in range(_MAX_HEIGHT):
        found.update(above)
        documents = (document for path in above for _, document in reader.each([{'@odata.id': path}]))
        above = [up for document in documents if (up := link(inner(document, 'Links'), 'ContainedBy')) not in found]
        above = [path for path in above if path]
    return found
