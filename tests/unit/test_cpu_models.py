"""The microarchitecture of a processor, by what a BMC shows of it."""

import doctest
import itertools
import pathlib
import re

import archspec
import pytest
from archspec.cpu import TARGETS

from ironic_traits.matching import bmc_facts, cpu_models
from ironic_traits.matching.fact_table_files import packaged, table
from ironic_traits.matching.facts import NodeFacts

TABLE = packaged('ironic_traits.matching', 'cpu_models.yaml')
#: What /proc/cpuinfo shows on real machines, without those whose flags were edited, that have none, or are no servers.
CPUINFO = [
    path
    for path in sorted((pathlib.Path(archspec.__file__).parent / 'json/tests/targets').glob('linux-*'))
    if not re.search('x86_64_v3|24.04-alderlake|power|x60|sifive|asahi', path.name)
]
VENDORS = {'GenuineIntel': 'intel', 'AuthenticAMD': 'amd'}
#: Kunpeng 920, as lscpu shows it.
KUNPENG = ('fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma dcpop asimddp '
           'asimdfhm ssbs')  # fmt: skip


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
    # AVX and AES are removed from some.
    ('Intel(R) Pentium(R) CPU G4560 @ 3.50GHz', 'x86_64_v2'),
    ('Intel(R) Celeron(R) G6900', 'x86_64_v2'),
    ('Intel(R) Core(TM) i3-3220 CPU @ 3.30GHz', 'x86_64_v2'),
    # Ivy Bridge, in spite of its number; Raptor Lake; refreshed Sapphire Rapids; Comet and Rocket Lake; Nehalem.
    ('Intel(R) Core(TM) i7-4930K CPU @ 3.40GHz', 'x86_64'),
    ('Intel(R) Xeon(R) 6369P', 'alderlake'),
    ('Intel(R) Xeon(R) w7-2595X', 'sapphirerapids'),
    ('Intel(R) Xeon(R) W-1290P CPU @ 3.70GHz', 'skylake'),
    ('Intel(R) Xeon(R) W-1370P @ 3.60GHz', 'icelake'),
    ('Intel(R) Xeon(R) W-3175X CPU @ 3.10GHz', 'skylake_avx512'),
    ('Intel(R) Xeon(R) CPU           X7560  @ 2.27GHz', 'nehalem'),
    ('Intel(R) Xeon(R) 6726P-B', 'graniterapids'),
    ('Intel(R) Xeon(R) Platinum 8488C', 'sapphirerapids'),
    ('AMD EPYC 8324P 32-Core Processor', 'zen4'),
    ('AMD EPYC 4545P 16-Core Processor', 'zen5'),
    ('AMD EPYC 7A53 64-Core Processor', 'zen3'),
    ('AMD Eng Sample: 100-000000248-08_35/21_N', 'x86_64'),
    ('HUAWEI Kunpeng 920 5250', 'tsv110'),
    ('Kunpeng 916', 'cortex_a72'),
    ('AmpereOne(R) A192-32X', 'ampere1'),
    ('Phytium S5000C', 'aarch64'),
    ('SpacemiT K3', 'riscv64'),
    ('IBM POWER10', 'power10le'),
    ('PowerEdge R750', None),
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
        # POWER has no flags, and these two stand for any processor of the architecture.
        is_without = name.startswith(('power', 'ppc')) or name in ('aarch64', 'riscv64')
        assert cpu_models.flags(name) or is_without, name


def test_parts_are_those_of_archspec():
    parts = {row['id'].partition(':')[2]: row['microarchitecture'] for row in TABLE['parts']}
    known = {target.cpu_part.removeprefix('0x'): name for name, target in TARGETS.items() if target.cpu_part}
    shared = parts.keys() & known.keys()
    assert len(shared) >= 11
    assert {part: parts[part] for part in shared} == {part: known[part] for part in shared}


@pytest.mark.parametrize('path', CPUINFO, ids=lambda path: path.name)
def test_real_processors_have_all_features_of_their_microarchitecture(path):
    lines = [line.partition(':') for line in path.read_text().partition('\n\n')[0].splitlines()]
    found = {key.strip(): value.strip() for key, _, value in reversed(lines)}
    vendor = VENDORS.get(found.get('vendor_id'))
    if vendor:
        model = cpu_models.by_family(vendor, *(int(found[key]) for key in ('cpu family', 'model', 'stepping')))
        named = cpu_models.by_name(found['model name'])
        assert named.is_generic or model.microarchitecture == named.microarchitecture
    else:
        midr = int(found['CPU implementer'], 0) << 24 | int(found['CPU part'], 0) << 4
        model = cpu_models.by_signature(f'0x{midr:08x}', '')
    assert not model.is_generic
    flags = set((found.get('flags') or found['Features']).split())
    known = {row['flag'] for row in table('cpu-flags')['x86_64' if vendor else 'aarch64']}
    assert cpu_models.flags(model.microarchitecture) & known <= flags


def test_kunpeng_has_no_more_features_than_it_shows():
    known = {row['flag'] for row in table('cpu-flags')['aarch64']}
    assert cpu_models.flags('tsv110') & known == set(KUNPENG.split()) & known


@pytest.mark.parametrize(('microarchitecture', 'flag'), [
    ('sandybridge', 'pdpe1gb'),  # Core and Xeon E3 have none
    ('mic_knl', 'pcid'),
    ('cortex_a72', 'aes'),
    ('cortex_a78', 'sha2'),
])  # fmt: skip
def test_features_that_only_some_have(microarchitecture, flag):
    assert flag not in cpu_models.flags(microarchitecture)


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
