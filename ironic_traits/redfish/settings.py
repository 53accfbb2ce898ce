"""TPM, secure boot, boot mode, the attributes of the BIOS, and who made the machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_traits.matching.fact_table_files import packaged
from ironic_traits.redfish.machines import Found, Machine
from ironic_traits.redfish.trees import inner, link, objects, printable, text

#: Maximum number of attributes of the BIOS.
MAX_ATTRIBUTES = 2000
_MODES = {'UEFI': 'uefi', 'Legacy': 'bios'}


def identity(machine: Machine) -> Found:
    """Return the vendor, the model, the serial number and the version of the BIOS."""
    every = (machine.system, *machine.trays)
    vendor = {
        'manufacturer': next(filter(None, (text(each, 'Manufacturer') for each in every)), ''),
        'product_name': next(filter(None, (text(each, 'Model') for each in every)), ''),
        'serial_number': text(machine.system, 'SerialNumber'),
    }
    values: dict[str, Any] = {key: value for key, value in vendor.items() if value}
    if version := text(machine.system, 'BiosVersion'):
        values['firmware'] = {'version': version}
    uuid = text(machine.system, 'UUID')
    return Found({'system_vendor': values}, {'system': machine.path} | ({'uuid': uuid} if uuid else {}))


def tpm(machine: Machine) -> Found:
    """Return the TPM: ``present``, ``enabled`` and ``version``; nothing if the BMC does not know."""
    modules = objects(machine.system.get('TrustedModules'))
    states = [text(inner(each, 'Status'), 'State') for each in modules]
    for module, state in zip(modules, states, strict=True):
        if kind := re.fullmatch('TPM([12])_([02])', text(module, 'InterfaceType')):
            found = {'present': True, 'version': '.'.join(kind.groups())}
            return Found(redfish={'tpm': found | ({'enabled': state == 'Enabled'} if state else {})})
    return Found(redfish={'tpm': {'present': False}} if modules and set(states) == {'Absent'} else {})


def secure_boot(machine: Machine) -> Found:
    """Return whether the machine boots signed software only."""
    if not link(machine.system, 'SecureBoot'):
        return Found()
    document = machine.reader.get(link(machine.system, 'SecureBoot'))
    states = {'Enabled': True, 'Disabled': False}
    value = states.get(text(document, 'SecureBootCurrentBoot'), document.get('SecureBootEnable'))
    return Found(redfish={'secure_boot': value} if isinstance(value, bool) else {})


def boot_mode(machine: Machine) -> Found:
    """Return the boot mode: the attribute of the BIOS, else what the System says of its next boot."""
    mode = _boot_mode(_attributes(machine)) if link(machine.system, 'Bios') else ''
    mode = mode or _MODES.get(text(inner(machine.system, 'Boot'), 'BootSourceOverrideMode'), '')
    return Found({'boot': {'current_boot_mode': mode}} if mode else {})


def bios(machine: Machine) -> Found:
    """Return the attributes of the BIOS, and the switches that are known."""
    if not link(machine.system, 'Bios'):
        return Found()
    attributes = _attributes(machine)
    return Found(redfish={'bios': attributes, 'switches': _switches(attributes)})


def _attributes(machine: Machine) -> dict[str, Any]:
    """Return {name: value}, without passwords. Values of HPE Cray are objects, and iLO 4 has them in the document."""
    document = machine.reader.get(link(machine.system, 'Bios'))
    found = {}
    attributes = inner(document, 'Attributes') or {name: each for name, each in document.items() if '@' not in name}
    for name, value in list(attributes.items())[:MAX_ATTRIBUTES]:
        value = value.get('current_value') if isinstance(value, dict) else value
        if isinstance(value, str):
            value = printable(value)
        elif not isinstance(value, int | float) or not -(2**53) < value < 2**53:
            continue
        if not re.search('password|pwd', name, re.I):
            found[printable(name)] = value
    return found


def _switches(attributes: Mapping[str, Any]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    words = _table()
    plain = _plain(attributes)
    for entry in words['switches']:
        for value in _values(plain, entry['name']):
            if value in entry.get('set', words['set']):
                found.setdefault(entry['switch'], True)
            elif value in entry.get('unset', words['unset']):
                found.setdefault(entry['switch'], False)
    return found


def _boot_mode(attributes: Mapping[str, Any]) -> str:
    plain = _plain(attributes)
    for entry in _table()['boot_modes']:
        for value in _values(plain, entry['name']):
            for mode in ('uefi', 'bios'):
                if value in entry[mode]:
                    return mode
    return ''


def _table() -> Any:
    return packaged('ironic_traits.redfish', 'bios_switches.yaml')


def _plain(attributes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values as the table has them."""
    return [
        (
            re.sub('[^a-z0-9]', '', re.sub('_[0-9A-F]{4}$', '', name).lower()),
            str(value).strip().lower().removeprefix(name.lower()),
        )
        for name, value in attributes.items()
    ]


def _values(plain: Sequence[tuple[str, str]], name: str) -> Iterator[str]:
    return (value for key, value in plain if re.fullmatch(name, key))
