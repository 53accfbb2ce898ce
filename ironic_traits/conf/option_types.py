"""Types of options whose values are parsed, and checked when the service starts."""

import ipaddress
import json
import pathlib
from typing import Any

import yaml
from oslo_config import types

from ironic_traits import yaml_documents

_PCI_KEYS = ('vendor_id', 'product_id', 'name')
#: Length of ``physical_network`` of a port.
_MAX_NETWORK = 64


class PciAlias(types.ConfigType):
    """A JSON object with the ids of a PCI device and its name. The value is ((vendor id, product id), name)."""

    def __init__(self) -> None:
        super().__init__(type_name='JSON object')

    def __call__(self, value: str) -> tuple[tuple[str, str], str]:
        entry = json.loads(value)
        if not isinstance(entry, dict) or entry.keys() != set(_PCI_KEYS):
            raise ValueError(f'{value} must be an object with the keys {", ".join(_PCI_KEYS)}')
        if not all(isinstance(text, str) and text and not {',', ':'} & set(text) for text in entry.values()):
            raise ValueError(f'the values of {value} must be texts without "," and ":"')
        return (entry['vendor_id'].lower(), entry['product_id'].lower()), entry['name']

    def __repr__(self) -> str:
        return 'PciAlias'

    def _formatter(self, value: Any) -> str:
        return str(value)


class SubnetNetwork(types.ConfigType):
    """A subnet and the physical network of its addresses, SUBNET:NETWORK. The value is (ip_network, NETWORK)."""

    def __init__(self) -> None:
        super().__init__(type_name='subnet:network')

    def __call__(self, value: Any) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str]:
        subnet, _, network = str(value).strip().rpartition(':')
        if not subnet or not 0 < len(network) <= _MAX_NETWORK:
            raise ValueError(f'{value} must be SUBNET:NETWORK, with a network of at most {_MAX_NETWORK} characters')
        return ipaddress.ip_network(subnet), network

    def __repr__(self) -> str:
        return 'SubnetNetwork'

    def _formatter(self, value: Any) -> str:
        return str(value)


class Accelerators(types.ConfigType):
    """The path of a YAML file that describes accelerators. The value is {(vendor id, device id): description}."""

    def __init__(self) -> None:
        super().__init__(type_name='path of a YAML file')

    def __call__(self, value: str) -> dict[tuple[str, str], dict[str, Any]]:
        try:
            document = yaml_documents.load(pathlib.Path(value).read_text())
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ValueError(f'{value} cannot be read: {error}') from error
        devices = document.get('pci_devices') if isinstance(document, dict) else None
        if not isinstance(devices, list):
            raise ValueError(f'{value} must be an object with the list pci_devices')
        return dict(map(_described, devices))

    def __repr__(self) -> str:
        return 'Accelerators'

    def _formatter(self, value: Any) -> str:
        return str(value)


def _described(device: Any) -> tuple[tuple[str, str], dict[str, Any]]:
    try:
        key = device['vendor_id'].lower(), device['device_id'].lower()
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f'{device} must have vendor_id and device_id, which are texts') from error
    return key, device
