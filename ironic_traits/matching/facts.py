"""The facts of a node, and the traits that follow from them by the tables in ``fact_tables``.

A map reads one kind of facts and returns traits. It never fails: what it cannot read gives no trait.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ironic_traits.matching import pci_names, traits
from ironic_traits.matching.fact_table_files import table
from ironic_traits.matching.trait_names import normalized

#: Maximum number of devices of each kind that a map reads.
MAX_DEVICES = 10_000
#: Maximum number of rows of the collector extra-hardware that a map reads.
MAX_ROWS = 20_000


@dataclasses.dataclass(frozen=True)
class NodeFacts:
    """What is known about a node.

    :ivar inventory: the ramdisk's inventory.
    :ivar plugin_data: everything else that an inspection collected.
    :ivar node: fields of the node, as the API shows them.
    :ivar unmasked: those of the fields in which secrets are masked, with the secrets.
    """

    inventory: Mapping[str, Any]
    plugin_data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    node: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unmasked: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class MappedTraits:
    """The traits that a map found, and sentences about what it could not read."""

    traits: set[str] = dataclasses.field(default_factory=set)
    warnings: list[str] = dataclasses.field(default_factory=list)


def cpu_flags(facts: NodeFacts) -> MappedTraits:
    """Return what the processor can do."""
    cpu = _processor(facts)
    architecture = architecture_of_flags(cpu['architecture'])
    result = traits_of_flags(architecture, cpu['flags'], _vendor(cpu), cpu['model'])
    if cpu['flags'] and not architecture:
        result.warnings.append('cpu-flags: the processor has flags, but no architecture')
    elif not cpu['flags'] and architecture in ('x86_64', 'aarch64'):
        result.warnings.append('cpu-flags: the processor has no flags')
    return result


def traits_of_flags(architecture: str, flags: Collection[str], vendor: str | None, model: str) -> MappedTraits:
    """Return the traits of a processor by its flags, or where it has none, by the name of its model."""
    result = MappedTraits()
    for entry in table('cpu-flags').get(architecture, ()):
        is_there = entry['model'] in model if 'model' in entry else entry['flag'] in flags
        if is_there and entry.get('vendor') in (None, vendor):
            result.traits.update(entry['traits'])
    return result


def architecture(facts: NodeFacts) -> MappedTraits:
    """Return the architecture."""
    return architecture_of_name(_processor(facts)['architecture'])


def architecture_of_name(name: str) -> MappedTraits:
    """Return the trait of an architecture."""
    name = name.lower().strip()
    aliases = {entry['architecture']: entry['traits'] for entry in table('architecture')['aliases']}
    names = {each for each in aliases.get(name, [f'HW_ARCH_{name.upper()}']) if each in traits.STANDARD}
    return MappedTraits(names, [] if names or not name else [f'architecture: os-traits has no name for {name[:100]!r}'])


def disks(facts: NodeFacts) -> MappedTraits:
    """Return whether there are disks that rotate, and disks that do not."""
    ignored = {entry['vendor'] for entry in table('disks')['ignored']}
    result = MappedTraits()
    for disk in objects_of(facts.inventory.get('disks')):
        if text_of(disk.get('vendor')).lower() not in ignored and isinstance(disk.get('rotational'), bool):
            for entry in table('disks')['traits']:
                if entry['rotational'] == disk['rotational']:
                    result.traits.update(entry['traits'])
    return result


def nics(facts: NodeFacts) -> MappedTraits:
    """Return what the network interfaces can do."""
    features = set()
    names = {text_of(nic.get('name')) for nic in objects_of(facts.inventory.get('interfaces'))}
    for name, values in _extra(facts, 'network').items():
        if name != 'lo' and (name in names or not names):
            features |= {key for key, value in values.items() if text_of(value) in ('on', 'on [fixed]')}
    return MappedTraits({trait for entry in table('nics')['features'] if entry['feature'] in features
                   for trait in entry['traits']})  # fmt: skip


def firmware(facts: NodeFacts) -> MappedTraits:
    """Return the boot mode, and the vendor and version of the firmware."""
    entries = table('firmware')
    mode = text_of(object_of(facts.inventory.get('boot')).get('current_boot_mode')).lower()
    result = MappedTraits(
        {trait for entry in entries['boot_modes'] if entry['mode'] == mode for trait in entry['traits']}
    )
    values = object_of(object_of(facts.inventory.get('system_vendor')).get('firmware'))
    values = values or _extra(facts, 'firmware', 'bios').get('bios', {})
    for entry in entries['names']:
        parts = [text_of(values.get(key)) for key in entry['keys']]
        if all(parts):
            add_name(result, entry['prefix'], *parts)
    return result


def pci(facts: NodeFacts) -> MappedTraits:
    """Return the models of the GPUs and the accelerators."""
    entries, result = table('pci'), MappedTraits()
    devices = {entry['id']: entry['traits'] for entry in entries['devices']}
    ignored = {entry['vendor'] for entry in entries['ignored']}
    vendors = {entry['vendor']: entry['name'] for entry in entries['vendors']}
    for device in (*objects_of(facts.inventory.get('pci_devices')), *objects_of(facts.plugin_data.get('pci_devices'))):
        vendor, product = (_number(device.get(key)) for key in ('vendor_id', 'product_id'))
        prefix = _prefix(text_of(device.get('class')), entries['classes'])
        if prefix and vendor and product and vendor not in ignored:
            if f'{vendor}:{product}' in devices:
                result.traits.update(devices[f'{vendor}:{product}'])
            else:
                names = pci_names.names(vendor, product)
                add_name(result, prefix, vendors.get(vendor, names[0]), names[1])
    return result


def _processor(facts: NodeFacts) -> dict[str, Any]:
    """Return the flags, model and architecture: of the ramdisk, else of the collector extra-hardware."""
    cpu = object_of(facts.inventory.get('cpu'))
    extra = next(iter(_extra(facts, 'cpu', 'physical_').values()), {})
    kernel = _extra(facts, 'system', 'kernel').get('kernel', {})
    flags = cpu.get('flags') or extra.get('flags') or ()
    words = flags.split() if isinstance(flags, str) else flags if isinstance(flags, list) else ()
    return {
        'flags': {each for each in words[:MAX_DEVICES] if isinstance(each, str)},
        'model': text_of(cpu.get('model_name')) or f'{text_of(extra.get("vendor"))} {text_of(extra.get("product"))}',
        'architecture': text_of(cpu.get('architecture')) or text_of(kernel.get('arch')),
    }


def architecture_of_flags(name: str) -> str:
    """Return the architecture whose flags the table has; '' for an unknown one."""
    found = architecture_of_name(name).traits
    # A kernel of 32 bits runs on processors of 64 bits, and names the same flags.
    names = {'HW_ARCH_I686': 'x86_64', 'HW_ARCH_PPC64': 'ppc64le'}
    return next((names.get(trait, trait.removeprefix('HW_ARCH_').lower()) for trait in found), '')


def _vendor(cpu: Mapping[str, Any]) -> str | None:
    return next((entry['vendor'] for entry in table('cpu-flags')['vendors'] if entry['model'] in cpu['model']), None)


def _extra(facts: NodeFacts, kind: str, prefix: str = '') -> dict[str, dict[str, Any]]:
    """Return {name: {key: value}} of what the collector extra-hardware found.

    It sends rows of four. Ironic's hook replaces them with objects.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, values in object_of(object_of(facts.plugin_data.get('extra')).get(kind)).items():
        if isinstance(values, dict) and str(name).startswith(prefix):
            found[name] = dict(values)
    for row in _list(facts.plugin_data.get('data'))[:MAX_ROWS]:
        if isinstance(row, list) and len(row) == 4 and all(isinstance(each, str) for each in row[:3]):
            first, name, key, value = row
            if first == kind and name.startswith(prefix):
                found.setdefault(name, {})[key] = value
    return found


def _prefix(text: str, classes: Iterable[Mapping[str, str]]) -> str | None:
    number = text.lower().removeprefix('0x').rjust(6, '0') if text[-1:].isalnum() else ''
    for entry in classes:
        if text == entry['redfish'] or (len(number) == 6 and number.startswith(entry['class'])):
            return entry['prefix']
    return None


def add_name(result: MappedTraits, prefix: str, *parts: str) -> None:
    """Add a trait that ends with names from the facts."""
    name = normalized(prefix + '_'.join(parts))
    if traits.is_trait(name):
        result.traits.add(name)
    else:
        result.warnings.append(f'{name[:100]!r} is too long for a trait')


def _number(value: Any) -> str:
    """Return a PCI number as four hexadecimal digits; '' if it is not a number."""
    text = text_of(value).lower().removeprefix('0x')
    return text.rjust(4, '0') if 0 < len(text) <= 4 and set(text) <= set('0123456789abcdef') else ''


def objects_of(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in _list(value)[:MAX_DEVICES] if isinstance(each, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ''
