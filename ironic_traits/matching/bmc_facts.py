"""Traits of what BMCs know and ramdisks do not."""

import re
from collections.abc import Iterable
from typing import Any

from ironic_traits.matching import cpu_models, pci_names
from ironic_traits.matching.fact_table_files import table
from ironic_traits.matching.facts import (
    MappedTraits,
    NodeFacts,
    add_name,
    architecture_of_flags,
    architecture_of_name,
    object_of,
    objects_of,
    text_of,
    traits_of_flags,
)


def cpu_model(facts: NodeFacts) -> MappedTraits:
    """Return what all processors of this microarchitecture can do. If a ramdisk has read the flags, they count."""
    cpu = object_of(facts.inventory.get('cpu'))
    name = _microarchitecture(facts)
    if cpu.get('flags') or not name:
        return MappedTraits()
    architecture, model = cpu_models.architecture(name), text_of(cpu.get('model_name'))
    result = traits_of_flags(
        architecture_of_flags(architecture), cpu_models.flags(name), cpu_models.vendor(name), model
    )
    if not cpu.get('architecture'):  # Ironic's inspection by Redfish leaves it empty if it does not know
        result.traits |= architecture_of_name(architecture).traits
    return result


def firmware_settings(facts: NodeFacts) -> MappedTraits:
    """Return what the firmware has switched on: of the processor, of PCI, the TPM, the boot mode."""
    redfish, entries, result = _redfish(facts), table('bmc'), MappedTraits()
    vendor, switches = cpu_models.vendor(_microarchitecture(facts)), _switches(facts)
    for entry in entries['switches']:
        if switches.get(entry['switch']) is True and entry.get('vendor') in (None, vendor):
            result.traits.update(entry['traits'])
    tpm = object_of(redfish.get('tpm'))
    for entry in entries['tpm']:
        if tpm.get('enabled') is True and tpm.get('version') == entry['version']:
            result.traits.update(entry['traits'])
    mode = text_of(object_of(facts.inventory.get('boot')).get('current_boot_mode')).lower()
    for entry in table('firmware')['boot_modes']:
        if entry['mode'] == mode:
            result.traits.update(entry['traits'])
    for entry in entries['secure_boot']:
        if redfish.get('secure_boot') is entry['enabled']:
            result.traits.update(entry['traits'])
    return result


def disk_protocols(facts: NodeFacts) -> MappedTraits:
    """Return how the disks are connected."""
    protocols = {text_of(disk.get('protocol')) for disk in objects_of(facts.inventory.get('disks'))}
    entries = table('bmc')['protocols']
    return MappedTraits({trait for entry in entries if entry['protocol'] in protocols for trait in entry['traits']})


def accelerators(facts: NodeFacts) -> MappedTraits:
    """Return the models of the GPUs that a BMC lists as processors, by their names."""
    result, known = MappedTraits(), _known_gpus()
    product = text_of(object_of(facts.inventory.get('system_vendor')).get('product_name'))
    for gpu in objects_of(_redfish(facts).get('accelerators')):
        named = text_of(gpu.get('model'))
        model = named or product  # a GB200 has GPUs without a name
        if text_of(gpu.get('type')) == 'GPU' and model:
            words = set(re.split('[^A-Z0-9]+', model.upper()))
            vendor = next(
                (each for each in ('NVIDIA', 'AMD', 'INTEL') if each in text_of(gpu.get('vendor')).upper()), ''
            )
            traits = {
                trait for word, trait in known.items() if word in words and trait.startswith(f'CUSTOM_GPU_{vendor}')
            }
            result.traits.update(traits)
            if named and not traits:
                add_name(
                    result, 'CUSTOM_GPU_', *filter(None, (vendor, model.upper().removeprefix(vendor).strip(' _-')))
                )
    return result


def cpu_vendor(facts: NodeFacts) -> MappedTraits:
    """Return who makes the processor."""
    texts = (
        object_of(facts.inventory.get('cpu')).get('model_name'),
        object_of(_redfish(facts).get('cpu')).get('vendor'),
    )
    for entry in table('bmc')['cpu_vendors']:
        if any(re.search(entry['name'], text_of(each), re.I) for each in texts):
            return MappedTraits(set(entry['traits']))
    return MappedTraits()


def cpu_microarchitecture(facts: NodeFacts) -> MappedTraits:
    """Return the microarchitecture, if a BMC shows what it follows from."""
    result, name = MappedTraits(), text_of(object_of(_redfish(facts).get('cpu')).get('microarchitecture'))
    for entry in table('bmc')['microarchitectures'] if name else ():
        add_name(result, entry['prefix'], name)
    return result


def nic_models(facts: NodeFacts) -> MappedTraits:
    """Return the models of the network adapters, and whether one has virtual functions."""
    result, adapters = MappedTraits(), list(objects_of(_redfish(facts).get('adapters')))
    keys = ('vendor', 'model', 'name', 'part_number', 'description')
    _add_nics(result, {' '.join(text_of(each.get(key)) for key in keys) for each in adapters})
    if not result.traits:
        _add_nics(result, _pci_nics(facts))
    for entry in table('nics')['virtual_functions']:
        if any(each.get('virtual_functions') for each in adapters):
            result.traits.update(entry['traits'])
    return result


def _add_nics(result: MappedTraits, names: Iterable[str]) -> None:
    for name in names:
        for entry in table('nics')['models']:
            if found := re.search(entry['name'], name, re.I):
                add_name(result, entry['prefix'], *filter(None, found.groups()))
                break


def _pci_nics(facts: NodeFacts) -> set[str]:
    """Return the names of the network interfaces among the PCI devices."""
    devices = (*objects_of(facts.inventory.get('pci_devices')), *objects_of(facts.plugin_data.get('pci_devices')))
    ids = [
        [text_of(each.get(key)).lower().removeprefix('0x') for key in ('vendor_id', 'product_id')]
        for each in devices
        if text_of(each.get('class')).lower().removeprefix('0x').startswith(('02', 'networkc'))
    ]
    names = {entry['id']: entry['name'] for entry in table('nics')['devices']}
    return {names.get(':'.join(each)) or ' '.join(pci_names.names(*each)) for each in ids}


def nic_speeds(facts: NodeFacts) -> MappedTraits:
    """Return the speeds of the network interfaces, from 1 Gbit/s on."""
    result = MappedTraits()
    for nic in objects_of(facts.inventory.get('interfaces')):
        speed = nic.get('speed_mbps')
        if isinstance(speed, int) and speed >= 1000 and speed % 1000 == 0:
            add_name(result, table('nics')['speeds'][0]['prefix'], f'{speed // 1000}G')
    return result


def _known_gpus() -> dict[str, str]:
    """Return {last word of the name of a GPU: its trait} of the table of PCI devices."""
    traits = (trait for entry in table('pci')['devices'] for trait in entry['traits'])
    return {trait.rpartition('_')[2]: trait for trait in traits if trait.startswith('CUSTOM_GPU_')}


def _microarchitecture(facts: NodeFacts) -> str:
    """Return the microarchitecture that an inspection found, else the one that the name of the model has."""
    found = text_of(object_of(_redfish(facts).get('cpu')).get('microarchitecture'))
    named = cpu_models.by_name(text_of(object_of(facts.inventory.get('cpu')).get('model_name')))
    return found or (named.microarchitecture if named else '')


def _switches(facts: NodeFacts) -> dict[str, Any]:
    """Return the switches. With more threads than cores, SMT is on, whatever the attributes do not say."""
    cpu = object_of(facts.inventory.get('cpu'))
    count, cores = cpu.get('count'), cpu.get('core_count')
    threads = {'smt': count > cores} if isinstance(count, int) and isinstance(cores, int) else {}
    return threads | object_of(_redfish(facts).get('switches'))


def _redfish(facts: NodeFacts) -> dict[str, Any]:
    return object_of(facts.plugin_data.get('redfish'))
