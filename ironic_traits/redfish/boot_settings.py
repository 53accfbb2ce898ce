"""The boot mode of a machine, and its secure boot. A change takes effect when the machine boots again."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.redfish.bmcs import Bmc, Failure, Unknown
from ironic_traits.redfish.trees import Unimplemented, Unreadable, inner, link, text

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
        _, document = _secure_boot(bmc, system)
        found['secure_boot'] = document.get('SecureBootEnable')
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


def overrides(bmc: Bmc) -> Iterator[Mapping[str, Any]]:
    """Yield how the System boots the next time: now, and after what is to be changed."""
    system = bmc.document()
    yield inner(system, 'Boot')
    if later := text(inner(system, '@Redfish.Settings', 'SettingsObject'), '@odata.id'):
        with contextlib.suppress(Unreadable):
            yield inner(bmc.get(later), 'Boot')


def secure_boot(bmc: Bmc) -> tuple[str, Mapping[str, Any]]:
    """Return the path of the document about secure boot, and the document.

    :raises Unknown: the BMC does not know secure boot.
    :raises Unreadable: it cannot be read.
    """
    path, document = _secure_boot(bmc, bmc.document())
    if not document:
        raise Unknown('The BMC does not know secure boot.')
    return path, document


def _secure_boot(bmc: Bmc, system: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the same as ``secure_boot``; an empty document if the BMC does not know it."""
    path = link(system, 'SecureBoot')
    try:
        document = bmc.get(path) if path else {}
    except Unimplemented:
        document = {}
    return path, document if isinstance(document.get('SecureBootEnable'), bool) else {}


def set_secure_boot(bmc: Bmc, enabled: bool) -> None:
    """Switch secure boot on or off.

    :raises Unknown: the BMC does not know it, or the boot mode is another one.
    :raises Failure: the BMC refuses it, or forgets it.
    :raises Unreadable: it cannot be read.
    """
    path, document = secure_boot(bmc)
    if document['SecureBootEnable'] is enabled:
        return
    modes = [mode for boot in overrides(bmc) if (mode := text(boot, 'BootSourceOverrideMode'))]
    if modes and modes[-1] == MODES['bios']:
        raise Unknown('Secure boot needs the boot mode uefi.')
    bmc.patch(path, {'SecureBootEnable': enabled})
    _, changed = secure_boot(bmc)
    # Others change it when the machine boots.
    if changed['SecureBootEnable'] is not enabled and '@Redfish.Settings' not in changed:
        raise Failure('The BMC does not keep the change of secure boot.')
