"""The processor, by what BMCs of several vendors show of it."""

import pytest

from ironic_traits.redfish import inspections
from tests.support.redfish_trees import V1, Documents, collection, to, traits

ONE = '/Systems/1'
DELL8 = {'ProcessorType': 'CPU', 'Manufacturer': 'Intel', 'Model': 'E5-2620', 'InstructionSet': [{'Member': 'x86-64'}],
         'ProcessorArchitecture': [{'Member': 'x86'}]}  # fmt: skip


def inspected(*processors, **system):
    """What an inspection finds in a System with these processors."""
    documents = {**collection('/Systems', **{'1': {'Processors': to('/p'), **system}})}
    documents |= collection('/p', **{f'p{place}': each for place, each in enumerate(processors)})
    return inspections.inspect(Documents(documents), V1 + ONE)


def cpu(model='', registers='', family='', number='', step='', **more):
    """A processor whose documents have these texts, and no others."""
    ids = {'IdentificationRegisters': registers, 'EffectiveFamily': family, 'EffectiveModel': number, 'Step': step}
    return {'ProcessorType': 'CPU', 'Model': model, 'ProcessorId': {k: v for k, v in ids.items() if v}, **more}


@pytest.mark.parametrize(('document', 'expected'), [
    # Cisco: family and model as decimal numbers.
    (cpu('Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz', '', '6', '85', '4', Manufacturer='Intel(R) Corporation'),
     ('skylake_avx512', 'x86_64')),
    # Huawei: bytes with dashes, for Intel and for Arm.
    (cpu('', '57-06-05-00-FF-FB-EB-BF', Manufacturer='Intel(R) Corporation'), ('cascadelake', 'x86_64')),
    (cpu('Kunpeng 920-4826', '10-D0-1F-48-00-00-00-00', Manufacturer='HiSilicon'), ('tsv110', 'aarch64')),
    # Quanta: EDX, then EAX. Fujitsu: the same in capitals.
    (cpu('', '0xBFEBFBFF00050657', Manufacturer='Intel'), ('cascadelake', 'x86_64')),
    # Gigabyte: a text as the family.
    (cpu('AMD EPYC 7742 64-Core Processor    ', '178bfbff00830f10', 'AMD Zen Processor Family', '0x31', '0x0'),
     ('zen2', 'x86_64')),
    # RackHD: the name as the model.
    (cpu('', '', 'Xeon', 'Intel(R) Xeon(R) CPU E5-2650 v3 @ 2.30GHz'), ('haswell', 'x86_64')),
    # Only the lower part of the model, which is that of Core 2.
    (cpu('Intel(R) Xeon(R) Platinum 8480+', '', '0x6', '0xf', '0x8', Manufacturer='Intel'),
     ('sapphirerapids', 'x86_64')),
    # An engineering sample has no name that says anything.
    (cpu('AMD Eng Sample: 100-000000248-08_35/21_N', '', '0x19', '0x30', Manufacturer='Advanced Micro Devices, Inc.'),
     ('zen3', 'x86_64')),
    # A signature of a complete model, but AVX is removed.
    (cpu('Intel(R) Pentium(R) CPU G4560 @ 3.50GHz', '0x000906E9', Manufacturer='Intel'), ('x86_64_v2', 'x86_64')),
    (cpu(Manufacturer='Ampere(R)'), (None, 'aarch64')),
    (cpu(Manufacturer='IBM', InstructionSet='PowerISA'), (None, 'ppc64le')),
    ({'ProcessorType': 'CPU', 'ProcessorId': {'VendorId': 'AuthenticAMD'}}, (None, 'x86_64')),
    ({'Model': 'Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz', 'TotalCores': 16}, ('skylake_avx512', 'x86_64')),
    (DELL8, (None, 'x86_64')),
    (cpu('Central Processor'), (None, None)),
])  # fmt: skip
def test_a_processor(document, expected):
    found = inspected(document)
    assert 'processors' not in found.unread
    microarchitecture = found.plugin_data['redfish']['cpu'].get('microarchitecture')
    assert (microarchitecture, found.inventory['cpu'].get('architecture')) == expected
    assert len(traits(found)) >= (18 if microarchitecture not in (None, 'x86_64_v2') else 0)
    assert 'HW_CPU_X86_AVX' not in traits(found) or microarchitecture not in (None, 'x86_64_v2')


@pytest.mark.parametrize(('system', 'architecture'), [
    ({'ProcessorSummary': {'Model': 'Intel(R) Xeon(R) processor', 'Count': 1}}, 'x86_64'),
    ({'Model': 'BlueField-3 SmartNIC Main Card'}, 'aarch64'),
    ({'ProcessorSummary': {'Model': 'NVIDIA H100 PCIe'}, 'Model': 'PowerEdge R750'}, None),
])  # fmt: skip
def test_a_system_without_processors(system, architecture):
    assert inspected(**system).inventory.get('cpu', {}).get('architecture') == architecture
