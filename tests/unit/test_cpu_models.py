"""The microarchitecture of a processor, by what a BMC shows of it."""

import doctest
import itertools
import re

import pytest

from ironic_traits.matching import bmc_facts, cpu_models
from ironic_traits.matching.fact_table_files import packaged
from ironic_traits.matching.facts import NodeFacts

TABLE = packaged('ironic_traits.matching', 'cpu_models.yaml')


def test_examples():
    assert doctest.testmod(cpu_models).failed == 0


@pytest.mark.parametrize(('registers', 'vendor', 'expected'), [
    ('0x000606A6', 'intel', ('icelake', 6, 106, 6)),
    ('0x000606a6bfebfbff', 'intel', ('icelake', 6, 106, 6)),  # EAX, EDX
    ('178bfbff00830f10', 'amd', ('zen2', 23, 49, 0)),  # EDX, EAX
    ('0x0f1100a0fbff178b', 'amd', ('zen3', 25, 1, 1)),  # halves of the words swapped
    ('0x2055504300 0806F8', 'intel', ('sapphirerapids', 6, 143, 8)),  # text in front
    ('A6 06 06 00 FF FB EB BF', 'intel', ('icelake', 6, 106, 6)),  # bytes, as dmidecode shows them
    ('50-65-4', 'intel', ('skylake_avx512', 6, 85, 4)),
    ('0x00050657', 'intel', ('cascadelake', 6, 85, 7)),
    ('0x0005065B', 'intel', ('cooperlake', 6, 85, 11)),
    ('0x413FD0C1', '', ('neoverse_n1', None, None, None)),
    ('0x00000002036B0241', '', ('neoverse_v2', None, None, None)),
])  # fmt: skip
def test_signatures(registers, vendor, expected):
    found = cpu_models.by_signature(registers, vendor)
    assert (found.microarchitecture, found.family, found.model, found.stepping) == expected


@pytest.mark.parametrize('registers', ['', '0', '0x', 'ffffffffffffffff', '0x34AC34DC8901274A', '0' * 400, 'N/A', '\0'])
@pytest.mark.parametrize('vendor', ['intel', 'amd', ''])
def test_unknown_signatures(registers, vendor):
    assert cpu_models.by_signature(registers, vendor) is None


@pytest.mark.parametrize(('name', 'expected'), [
    ('Intel(R) Xeon(R) Platinum 8480CL', 'sapphirerapids'),
    ('INTEL(R) XEON(R) GOLD 6544Y', 'emeraldrapids'),
    ('Intel(R) Xeon(R) Platinum 8376H CPU @ 2.60GHz', 'cooperlake'),
    ('Intel(R) Xeon(R) Silver 4210R CPU @ 2.40GHz', 'cascadelake'),
    ('Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz', 'broadwell'),
    ('Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz', 'sandybridge'),
    ('Intel(R) Xeon(R) 6972P', 'graniterapids'),
    ('Intel(R) Xeon(R) 6780E', 'sierraforest'),
    ('AMD EPYC 7302P 16-Core Processor               ', 'zen2'),
    ('AMD EPYC 7H12 64-Core Processor', 'zen2'),
    ('AMD EPYC 7V73X 64-Core Processor', 'zen3'),
    ('AMD EPYC 9654 96-Core Processor', 'zen4'),
    ('AMD EPYC 9755 128-Core Processor', 'zen5'),
    ('AMD EPYC Embedded 7443P', 'zen3'),
    ('AMD Ryzen 9 7950X3D 16-Core Processor', 'zen4'),
    ('AMD Ryzen 5 3400G with Radeon Vega Graphics', 'x86_64'),
    ('AMD Opteron(tm) Processor 6274', 'bulldozer'),
    ('Intel(R) Core(TM) i9-13900K', 'alderlake'),
    ('Intel(R) Core(TM) i7-10700 CPU @ 2.90GHz', 'skylake'),
    ('Ampere(R) Altra(R) Max Processor', 'neoverse_n1'),
    ('Grace A02', 'neoverse_v2'),
    ('Multi-Core Intel(R) Xeon(R) processor 7xxx Series', 'x86_64'),
    ('NVIDIA H100 PCIe', None),
    ('Central Processor', None),
    ('', None),
])  # fmt: skip
def test_names(name, expected):
    found = cpu_models.by_name(name)
    assert (found and found.microarchitecture) == expected


def test_each_microarchitecture_of_the_table_is_known():
    names = {row['microarchitecture'] for part in ('signatures', 'parts', 'names', 'others') for row in TABLE[part]}
    assert len(names) > 40
    for name in names:
        assert cpu_models.architecture(name), name
        # POWER has no flags, and aarch64 stands for any processor of Arm.
        assert cpu_models.flags(name) or name.startswith('power') or name == 'aarch64', name


def test_a_descendant_can_do_what_its_ancestors_can():
    chain = ('sandybridge', 'ivybridge', 'haswell', 'broadwell', 'skylake_avx512', 'cascadelake', 'cooperlake')
    for before, after in itertools.pairwise(chain):
        assert cpu_models.flags(before) <= cpu_models.flags(after)
    assert 'avx512_bf16' in cpu_models.flags('cooperlake')


@pytest.mark.parametrize('flag', ['vmx', 'svm', 'sgx', 'sev', 'rtm', 'ht'])
def test_what_firmware_can_switch_off_does_not_follow_from_the_model(flag):
    assert not [
        row['microarchitecture'] for row in TABLE['names'] if flag in cpu_models.flags(row['microarchitecture'])
    ]


def test_flags_that_a_ramdisk_has_read_win():
    cpu = {'model_name': 'AMD EPYC 9654 96-Core Processor', 'architecture': 'x86_64'}
    assert 'HW_CPU_X86_AVX512F' in bmc_facts.cpu_model(NodeFacts({'cpu': cpu})).traits
    assert bmc_facts.cpu_model(NodeFacts({'cpu': cpu | {'flags': ['sse']}})).traits == set()


def test_expressions_are_small():
    """Names come from BMCs: no expression may take long."""
    for row in TABLE['names']:
        assert not re.search(r'[*+]\)?[*+]', row['name']), row
    assert cpu_models.by_name('xeon ' * 100_000) is not None
