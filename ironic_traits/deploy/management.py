"""What a driver does in requests, while the client waits: boot devices and modes, indicators, interrupts and media."""

from collections.abc import Collection, Mapping
from typing import Any

#: The key of ``driver_internal_info`` with the boot device of a node without hardware: {'boot_device': …, …}.
BOOT_DEVICE = 'boot_device'
#: The devices of virtual media.
MEDIA = ('disk', 'cdrom', 'floppy')
#: {component: {name: {'readonly': whether it cannot be set, 'states': those that it can be set to}}}.
Indicators = Mapping[str, Mapping[str, Mapping[str, Any]]]
#: What a method that changes something returns: {key to store in ``driver_internal_info``: its value, None to remove
#: it}. A driver without hardware keeps there what was changed. None for nothing.
Kept = Mapping[str, Any] | None


class WorkFailed(Exception):
    """The failure of an action. Its text becomes the node's ``last_error``.

    :param done: the ``base.Done`` of what was done before the failure.
    """

    def __init__(self, reason: str, done: Any = None) -> None:
        super().__init__(reason)
        self.done = done


class WorkRefused(WorkFailed):
    """The failure of an action before the node was changed."""


class Management:
    """The methods of a driver that requests call, outside of transactions, with ``Task.node``.

    They raise WorkRefused if the request is at fault, and another WorkFailed if the hardware is. A call must take less
    than [deploy] lease_seconds: after that, a worker releases the lock of the node.
    """

    def boot_devices(self, node: dict[str, Any]) -> list[str]:
        """Return the boot devices that a node can have, such as pxe, disk, cdrom and bios."""
        raise _unsupported(node, 'get_supported_boot_devices')

    def boot_device(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return {'boot_device': …, 'persistent': …}; None for what is not known."""
        raise _unsupported(node, 'get_boot_device')

    def set_boot_device(self, node: dict[str, Any], device: str, persistent: bool) -> Kept:
        """Set the boot device of a node.

        :param device: one of ``boot_devices``.
        :param persistent: whether the node boots from it each time, and not only the next time.
        """
        raise _unsupported(node, 'set_boot_device')

    def set_boot_mode(self, node: dict[str, Any], mode: str) -> Kept:
        """Set the boot mode of a node: uefi or bios. The service stores it in the node."""
        raise _unsupported(node, 'set_boot_mode')

    def set_secure_boot(self, node: dict[str, Any], enabled: bool) -> Kept:
        """Let a node boot signed software only, or any. The service stores it in the node."""
        raise _unsupported(node, 'set_secure_boot_state')

    def inject_nmi(self, node: dict[str, Any]) -> Kept:
        """Send a non-maskable interrupt to a node."""
        raise _unsupported(node, 'inject_nmi')

    def indicators(self, node: dict[str, Any], component: str | None = None) -> Indicators:
        """Return the indicators of a node.

        :param component: the only component that is wanted; None for all.
        """
        raise _unsupported(node, 'get_supported_indicators')

    def indicator(self, node: dict[str, Any], component: str, name: str) -> str:
        """Return the state of an indicator: on, off, blinking or unknown."""
        raise _unsupported(node, 'get_indicator_state')

    def set_indicator(self, node: dict[str, Any], component: str, name: str, state: str) -> Kept:
        """Set the state of an indicator."""
        raise _unsupported(node, 'set_indicator_state')

    def media(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the virtual media of a node: [{'media_types': […], 'inserted': …, 'image': URL or None}, …]."""
        raise _unsupported(node, 'get_virtual_media')

    def attach_media(self, node: dict[str, Any], device: str, url: str) -> Kept:
        """Attach an image to a node.

        :param device: one of MEDIA.
        """
        raise _unsupported(node, 'attach_virtual_media')

    def detach_media(self, node: dict[str, Any], devices: Collection[str]) -> Kept:
        """Detach the images of some of MEDIA from a node."""
        raise _unsupported(node, 'detach_virtual_media')


def check_indicator(known: Indicators, component: str, name: str, state: str | None = None) -> None:
    """Raise WorkRefused unless a node has an indicator, and it can be set to a state.

    :param known: the indicators of the node.
    :param state: None if it is to be read.
    """
    if component not in known:
        raise WorkRefused(f'Invalid component {component} specified.')
    if name not in known[component]:
        raise WorkRefused(f'Invalid indicator {name} specified.')
    if state is None:
        return
    indicator = known[component][name]
    if indicator['readonly']:
        raise WorkRefused(f'The indicator {name}@{component} can only be read.')
    if state not in indicator['states']:
        raise WorkRefused(f'Invalid state {state} specified. Supported are: {", ".join(indicator["states"])}.')


def _unsupported(node: dict[str, Any], method: str) -> WorkRefused:
    return WorkRefused(f'Driver {node["driver"]} does not support {method} (disabled or not implemented).')
