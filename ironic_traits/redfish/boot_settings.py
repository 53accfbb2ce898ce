"""The boot mode of a machine, and its secure boot. A change takes effect when the machine boots again."""

import contextlib
from collections.abc import Mapping
from typing import Any

from ironic_traits.redfish.bmcs import Bmc, Failure, Unknown
from ironic_traits.redfish.trees import Unreadable, inner, link, text

#: {boot mode of Ironic: that of Redfish}.
MODES = {'uefi': 'UEFI', 'bios': 'Legacy'}
_NAMES = {value: name for name, value in MODES.items()}


def shown(bmc: Bmc, system: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a BMC shows: {'boot_mode': …, 'secure_boot': …}. None is what it does not know.

    :param system: the document of the System.
    :returns: without ``secure_boot`` if it cannot be read at the moment.
    """
    found: dict[str, Any] = {'boot_mode': _NAMES.get(text(inner(system, 'Boot'), 'BootSourceOverrideMode'))}
    with contextlib.suppress(Failure, Unreadable):
        path = link(system, 'SecureBoot')
        enabled = bmc.get(path).get('SecureBootEnable') if path else None
        found['secure_boot'] = enabled if isinstance(enabled, bool) else None
    return found


def set_mode(bmc: Bmc, mode: str) -> None:
    """Set the boot mode.

    :param mode: a key of ``MODES``.
    :raises Unknown: the BMC cannot change it.
    :raises Failure: the BMC refuses it.
    """
    boot, value = inner(bmc.document(), 'Boot'), MODES[mode]
    known = boot.get('BootSourceOverrideMode@Redfish.AllowableValues')
    if 'BootSourceOverrideMode' not in boot or (isinstance(known, list) and value not in known):
        raise Unknown(f'The BMC cannot change the boot mode to {value}.')
    if boot['BootSourceOverrideMode'] != value:
        bmc.set_boot_mode(value)


def check_secure_boot(bmc: Bmc) -> str:
    """Return the path of the document about secure boot.

    :raises Unknown: the BMC has none.
    :raises Failure: it cannot be read.
    """
    path = link(bmc.document(), 'SecureBoot')
    if not path:
        raise Unknown('The BMC does not know secure boot.')
    return path


def set_secure_boot(bmc: Bmc, enabled: bool) -> None:
    """Switch secure boot on or off.

    :raises Unknown: the BMC does not know it, or the boot mode is another one.
    :raises Failure: the BMC refuses it.
    """
    path = check_secure_boot(bmc)
    if bmc.get(path).get('SecureBootEnable') is enabled:
        return
    if text(inner(bmc.document(), 'Boot'), 'BootSourceOverrideMode') == MODES['bios']:
        raise Unknown('Secure boot needs the boot mode uefi.')
    bmc.patch(path, {'SecureBootEnable': enabled})
