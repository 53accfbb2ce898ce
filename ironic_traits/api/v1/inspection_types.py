"""WSME types of the data of inspections."""

from collections.abc import Callable
from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.deploy import inspection_data


class _Data(wsme.types.UserType):
    """The data of an inspection, as ``inspection_data.InspectionData``."""

    basetype = str
    schema = {'type': 'object'}

    def __init__(self, name: str, read: Callable[[Any], inspection_data.InspectionData]) -> None:
        self.name = name
        self._read = read

    def validate(self, value: Any) -> inspection_data.InspectionData:
        try:
            return self._read(value)
        except inspection_data.Invalid as error:
            raise failures.InvalidInput(reason=str(error)) from error


#: As a ramdisk sends it, and as a client does.
RAMDISK_DATA = _Data('data of a ramdisk', inspection_data.read_ramdisk_data)
CLIENT_DATA = _Data('data of an inspection', inspection_data.read_client_data)


class NodeInventory(types.Base):
    """The data of the last inspection of a node."""

    inventory = types.OBJECT
    plugin_data = types.OBJECT
