"""Processors and accelerators."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_traits.matching import cpu_models
from ironic_traits.matching.cpu_models import CpuModel
from ironic_traits.redfish.machines import Found, Machine
from ironic_traits.redfish.trees import Unreadable, inner, is_there, link, number, objects, text

_SETS = {'x86-64': 'x86_64', 'arm-a64': 'aarch64', 'powerisa': 'ppc64le', 'risc-v': 'riscv64', 'x86': 'x86_64'}
_ARCHITECTURES = {'x86': 'x86_64', 'arm': 'aarch64', 'power': 'ppc64le', 'risc-v': 'riscv64'}
#: Types of processors that are neither accelerators nor CPUs of their own.
_PARTS = ('Core', 'Thread')


def processors(machine: Machine) -> Found:
    """Return the CPU and the accelerators.

    :raises Unreadable: there is none, or the list cannot be read.
    """
    documents = [
        each for system in machine.systems for _, each in machine.reader.members(system, 'Processors') if is_there(each)
    ]
    accelerators = [each for each in documents if text(each, 'ProcessorType') not in ('', 'CPU', *_PARTS)]
    host = [each for _, each in machine.reader.members(machine.system, 'Processors') if is_there(each)]
    cpus = [each for each in host if _is_cpu(each)]
    others = [each for each in documents if _is_cpu(each)]
    model, name = _identified([*cpus, *others], _summary_name(machine))
    if not cpus and not others:  # such as the BMC of a DPU
        summary = text(inner(machine.system, 'ProcessorSummary'), 'Model')
        model = model or cpu_models.by_name(summary) or cpu_models.by_name(text(machine.system, 'Model'))
    if not (cpus or others or model or accelerators):
        # Each machine has one. Some BMCs list none while it starts, or while it is off.
        raise Unreadable('The BMC shows no processor.')
    architecture = _architecture(cpus or others, model)
    return Found(
        {'cpu': _cpu(machine, cpus or others, name) | ({'architecture': architecture} if architecture else {})},
        {'cpu': _details(cpus or others, model), 'accelerators': [_accelerator(each) for each in accelerators]},
    )


def _is_cpu(document: Mapping[str, Any]) -> bool:
    kind = text(document, 'ProcessorType')
    is_cpu = bool(document.keys() & {'ProcessorId', 'InstructionSet'} or cpu_models.by_name(text(document, 'Model')))
    return kind == 'CPU' or (not kind and is_cpu)


def _identified(cpus: Sequence[Mapping[str, Any]], summary: str) -> tuple[CpuModel | None, str]:
    """Return what the first processor is that can be identified, and the best name.

    A signature says most, except of models from which features were removed. The family and the model count if the name
    does not contradict: some BMCs leave out a part of the model.
    """
    names = [name for cpu in cpus for name in _names(cpu)] + [summary] * bool(summary)
    named = [(found, name) for name in names if (found := cpu_models.by_name(name))]
    exact = [(found, name) for found, name in named if not found.is_generic]
    known = [found for found, _ in exact]
    reduced = [found for found in known if found.microarchitecture == 'x86_64_v2']
    signed = [found for cpu in cpus if (found := _by_signature(cpu))]
    families = [found for cpu in cpus if (found := _by_family(cpu))]
    families = [each for each in families if not known or each.microarchitecture == known[0].microarchitecture]
    best = next(iter((*exact, *named)), (None, next(iter(names), '')))
    return next(iter((*reduced, *signed, *families, *known)), best[0]), best[1]


def _names(cpu: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in which BMCs have the name of a model."""
    ids = inner(cpu, 'ProcessorId')
    others = [text(cpu, 'Version'), *(text(ids, key) for key in ('VendorId', 'EffectiveFamily', 'EffectiveModel'))]
    yield from filter(None, [text(cpu, 'Model'), *(each for each in others if ' ' in each)])


def _by_signature(cpu: Mapping[str, Any]) -> CpuModel | None:
    return cpu_models.by_signature(text(inner(cpu, 'ProcessorId'), 'IdentificationRegisters'), _vendor(cpu))


def _by_family(cpu: Mapping[str, Any]) -> CpuModel | None:
    ids = inner(cpu, 'ProcessorId')
    family, model, stepping = (_integer(ids.get(key)) for key in ('EffectiveFamily', 'EffectiveModel', 'Step'))
    return None if family is None or model is None else cpu_models.by_family(_vendor(cpu), family, model, stepping)


def _vendor(cpu: Mapping[str, Any]) -> str:
    words = ' '.join((text(cpu, 'Manufacturer'), *_names(cpu), text(inner(cpu, 'ProcessorId'), 'VendorId'))).lower()
    if 'intel' in words:
        return 'intel'
    return 'amd' if re.search(r'amd|advanced micro|hygon', words) else ''


def _integer(value: Any) -> int | None:
    try:
        return int(value, 0) if isinstance(value, str) and len(value) < 12 else None
    except ValueError:
        return None


def _summary_name(machine: Machine) -> str:
    """Return the name in the summary, if it is that of a known CPU: some BMCs have that of a GPU there."""
    name = text(inner(machine.system, 'ProcessorSummary'), 'Model')
    found = cpu_models.by_name(name)
    return name if found and not found.is_generic else ''


def _architecture(cpus: Sequence[Mapping[str, Any]], model: CpuModel | None) -> str:
    """Return the architecture, as ``uname -m`` names it, by what tells most; '' if nothing does."""
    yielded = [cpu_models.architecture(model.microarchitecture)] if model else []
    for cpu in cpus:
        yielded.append(_SETS.get(_word(cpu, 'InstructionSet'), ''))
        yielded.append(_ARCHITECTURES.get(_word(cpu, 'ProcessorArchitecture'), ''))
        vendor = cpu_models.by_name(' '.join((text(cpu, 'Manufacturer'), text(inner(cpu, 'ProcessorId'), 'VendorId'))))
        yielded.append(cpu_models.architecture(vendor.microarchitecture) if vendor else '')
    return next(filter(None, yielded), '')


def _word(document: Mapping[str, Any], name: str) -> str:
    """Return a property in small letters. iDRAC 8 has lists of objects."""
    return (text(document, name) or text(next(iter(objects(document.get(name))), {}), 'Member')).lower()


def _details(cpus: Sequence[Mapping[str, Any]], model: CpuModel | None) -> dict[str, Any]:
    vendor = next((vendor for cpu in cpus if (vendor := text(cpu, 'Manufacturer'))), '')
    values: dict[str, Any] = {'vendor': vendor}
    if model is not None:
        values |= {key: getattr(model, key) for key in ('family', 'model', 'stepping')}
        values['microarchitecture'] = '' if model.is_generic else model.microarchitecture
    return {key: value for key, value in values.items() if value not in (None, '')}


def _cpu(machine: Machine, cpus: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the CPU, as the ramdisk describes it: ``count`` is the number of threads."""
    threads = sum(number(cpu, 'TotalThreads', 'TotalCores') for cpu in cpus)
    summary = inner(machine.system, 'ProcessorSummary')
    cores = sum(number(cpu, 'TotalCores') for cpu in cpus)
    speed = max((number(cpu, 'MaxSpeedMHz') for cpu in cpus), default=0)
    values = {
        'model_name': name,
        'count': threads or number(summary, 'LogicalProcessorCount', 'CoreCount'),
        'core_count': cores,
        'socket_count': len(cpus),
        'frequency': str(speed) if speed else '',
    }
    return {key: value for key, value in values.items() if value}


def _accelerator(document: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        'type': text(document, 'ProcessorType'),
        'vendor': text(document, 'Manufacturer'),
        'model': text(document, 'Model'),
        'part_number': text(document, 'PartNumber'),
        'pcie_device': link(inner(document, 'Links'), 'PCIeDevice'),
    }
    return {key: value for key, value in values.items() if value}
