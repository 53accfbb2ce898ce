"""What inspection hooks get, and what they return."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ironic_traits.deploy import base
from ironic_traits.deploy.inspected_interfaces import PortChanges


@dataclasses.dataclass
class Findings:
    """The results of the hooks.

    :ivar properties: the node's ``properties``, with the values that the hooks have set.
    :ivar plugin_data: the plugin data of the inspection, with the additions of the hooks.
    :ivar ports: the changes to the ports of the node.
    """

    properties: dict[str, Any]
    plugin_data: dict[str, Any]
    ports: PortChanges = dataclasses.field(default_factory=PortChanges)

    def set_capabilities(self, capabilities: Mapping[str, Any]) -> None:
        """Set capabilities of the node; one that is None is removed."""
        pairs = (pair.partition(':') for pair in str(self.properties.get('capabilities') or '').split(',') if pair)
        old = {name: value for name, _, value in pairs}
        new = {name: value for name, value in (old | dict(capabilities)).items() if value is not None}
        if new != old:
            self.properties['capabilities'] = ','.join(f'{name}:{value}' for name, value in new.items())


@dataclasses.dataclass(frozen=True)
class Inspection:
    """An inspection whose data the hooks read.

    :ivar options: the [inspection] group of ConfigOpts.
    :ivar node: uuid of the node.
    :ivar inventory: the inventory of the data.
    :ivar previous: the inventory of the inspection before; {} if there is none.
    """

    options: Any
    node: str
    inventory: Mapping[str, Any]
    previous: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def invalid(node: str, reason: str) -> base.WorkFailed:
    """Return the failure of an inspection whose data cannot be used.

    :param node: uuid of the node.
    """
    return base.WorkFailed(f'Failed to finish inspection: Inventory for node {node} is invalid: {reason}')
