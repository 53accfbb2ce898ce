"""The data of an inspection that a ramdisk or a client sends.

The ramdisk sends one object. It has ``inventory``, and the results of its collectors, which are the plugin data. As in
Ironic's responses, the data is stored in the form ``{"inventory": {…}, "plugin_data": {…}}``.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from oslo_utils import netutils

#: Maximum number of network interfaces in an inventory, and of problems that a failure names.
MAX_INTERFACES = 1000
MAX_PROBLEMS = 10
#: The parts of an inventory that this service reads, and their types.
_OBJECTS = ('cpu', 'memory', 'boot', 'system_vendor')
_LISTS = ('interfaces', 'disks')
#: Maximum number of characters of a value that becomes a field of the node or its ports.
_MAX_TEXT = 255
#: Numbers of an inventory are below this one.
MAX_NUMBER = 2**53
_BMC = ('bmc_address', 'bmc_v6address')


class Invalid(ValueError):
    """The data is not that of an inspection. The text has a sentence for each problem."""


@dataclasses.dataclass(frozen=True)
class InspectionData:
    """The data of an inspection.

    :ivar document: {'inventory': {…}, 'plugin_data': {…}}.
    """

    document: Mapping[str, Any]

    @property
    def macs(self) -> list[str]:
        """The MAC addresses of its network interfaces, in lower case, without duplicates."""
        interfaces = self.document['inventory'].get('interfaces') or ()
        addresses = (interface.get('mac_address') for interface in interfaces)
        return list(dict.fromkeys(mac for address in addresses if (mac := normal_mac(address))))

    @property
    def bmc_addresses(self) -> list[str]:
        """The addresses of the node's BMC."""
        return [address for name in _BMC if (address := self.document['inventory'].get(name))]


def normal_mac(address: Any) -> str | None:
    """Return a MAC address in lower case; None for any other value."""
    return address.lower() if isinstance(address, str) and netutils.is_valid_mac(address) else None


def is_short_text(value: Any) -> TypeGuard[str]:
    """Whether a value is text that is short enough for a field of the node or its ports."""
    return isinstance(value, str) and len(value) <= _MAX_TEXT


def number(value: Any) -> int:
    """Return a number of the inventory; 0 for another type of value, and for a number out of range."""
    try:
        result = int(value)
    except (OverflowError, TypeError, ValueError):
        return 0
    return result if 0 < result < MAX_NUMBER else 0


def read_ramdisk_data(document: Any) -> InspectionData:
    """Return the data that a ramdisk sends.

    :raises Invalid: it lacks network interfaces with MAC addresses, which Ironic requires from a ramdisk.
    """
    if not isinstance(document, dict):
        raise Invalid('The data of an inspection is a JSON object.')
    _check(_missing(document))
    return InspectionData(_parted(document))


def read_client_data(document: Any) -> InspectionData:
    """Return the data that a client sends, in the format of a ramdisk or of ``baremetal node inventory save``.

    :raises Invalid: it has no inventory, or parts of the inventory have wrong types.
    """
    if not isinstance(document, dict):
        raise Invalid('The data of an inspection is a JSON object.')
    _check(problems(document))
    if 'plugin_data' not in document:
        return InspectionData(_parted(document))
    plugin_data = {} if document['plugin_data'] is None else document['plugin_data']
    if not isinstance(plugin_data, dict) or document.keys() != {'inventory', 'plugin_data'}:
        raise Invalid("'plugin_data' must be an object. Everything besides 'inventory' goes into it.")
    return InspectionData({'inventory': document['inventory'], 'plugin_data': _without_logs(plugin_data)})


def problems(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why an inventory cannot be read, as sentences.

    :param document: object with the key ``inventory``.
    """
    inventory = document.get('inventory')
    if not isinstance(inventory, dict):
        yield "'inventory' is required, and must be an object."
        return
    for name in _OBJECTS:
        if not isinstance(inventory.get(name), dict | None):
            yield f"'{name}' in the inventory must be an object."
    for name in _LISTS:
        items = inventory.get(name)
        if items is not None and not (isinstance(items, list) and all(isinstance(item, dict) for item in items)):
            yield f"'{name}' in the inventory must be a list of objects."
    yield from _other_than_strings(inventory)


def _missing(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts that the data of a ramdisk lacks, as sentences."""
    inventory = document.get('inventory')
    if not isinstance(inventory, dict):
        yield "'inventory' is required, and must be an object."
        return
    interfaces = inventory.get('interfaces')
    if not isinstance(interfaces, list) or not interfaces:
        yield "'interfaces' is required in the inventory, and must be a list with at least one network interface."
    else:
        for index, interface in enumerate(interfaces):
            if not isinstance(interface, dict) or not isinstance(interface.get('mac_address'), str):
                yield f"'mac_address' is required in interfaces[{index}] of the inventory, and must be a string."
    yield from _other_than_strings(inventory)


def _other_than_strings(inventory: Mapping[str, Any]) -> Iterator[str]:
    for name in _BMC:
        if not isinstance(inventory.get(name), str | None):
            yield f"'{name}' in the inventory must be a string, or null."
    interfaces = inventory.get('interfaces')
    if isinstance(interfaces, list) and len(interfaces) > MAX_INTERFACES:
        yield f"'interfaces' in the inventory may have at most {MAX_INTERFACES} network interfaces."


def _check(sentences: Iterator[str]) -> None:
    named = [sentence for sentence, _ in zip(sentences, range(MAX_PROBLEMS), strict=False)]
    if named:
        raise Invalid(' '.join(named))


def _parted(document: Mapping[str, Any]) -> dict[str, Any]:
    plugin_data = {name: value for name, value in document.items() if name != 'inventory'}
    return {'inventory': document['inventory'], 'plugin_data': _without_logs(plugin_data)}


def _without_logs(plugin_data: Mapping[str, Any]) -> dict[str, Any]:
    # The logs of the ramdisk can be huge. Ironic does not keep them with the data either.
    return {name: value for name, value in plugin_data.items() if name != 'logs'}
