"""The standard rules, and the map of the firmware, on the data of real machines.

With IRONIC_TRAITS_WRITE_SAMPLES=1, the traits of each machine are written into tests/data/real_cpus.yaml.
"""

import importlib
import os
import pathlib

import pytest
import yaml

from ironic_traits.matching.rules import inspection_rules, rule_evaluation
from tests.support import real_cpus, yaml_files

DATA = pathlib.Path(__file__).parents[1] / 'data' / 'real_cpus.yaml'
GOLDEN = yaml_files.load(DATA)
MACHINES = {**real_cpus.archspec_cpus(), **real_cpus.lscpu_samples(), **real_cpus.hp_samples()}

#: {the kernel's name of a feature: that of libvirt and nova}.
LIBVIRT = {
    'pni': 'sse3',
    'sse4_1': 'sse4.1',
    'sse4_2': 'sse4.2',
    'pclmulqdq': 'pclmuldq',
    'sha_ni': 'sha-ni',
    'avx512_vnni': 'avx512vnni',
    'avx512_vbmi2': 'avx512vbmi2',
    'avx512_bitalg': 'avx512bitalg',
    'avx512_vpopcntdq': 'avx512-vpopcntdq',
    'amx_tile': 'amx-tile',
    'amx_int8': 'amx-int8',
    'amx_bf16': 'amx-bf16',
}
#: Traits outside nova's table, and the reason why a processor has them.
BEYOND_NOVA = {
    'HW_ARCH_X86_64': 'the architecture',
    'CUSTOM_CPU_VENDOR_AMD': 'the name of the model',
    'CUSTOM_CPU_VENDOR_INTEL': 'the name of the model',
    'HW_CPU_X86_PDPE1GB': 'pdpe1gb',
    'HW_CPU_X86_TSX': 'rtm',
    'HW_CPU_X86_INTEL_PCID': 'pcid, by Intel',
    'HW_CPU_X86_STIBP': 'stibp',
    'HW_CPU_X86_AMD_IBPB': 'ibpb, by AMD',
    'HW_CPU_X86_INTEL_SSBD': 'ssbd, by Intel',
    'HW_CPU_X86_AMD_SSBD': 'ssbd, by AMD',
    'HW_CPU_X86_AMD_VIRT_SSBD': 'virt_ssbd, by AMD',
    'HW_CPU_X86_INTEL_SPEC_CTRL': 'spec_ctrl or ibrs, by Intel',
    'HW_CPU_X86_INTEL_MD_CLEAR': 'md_clear, by Intel',
    'HW_CPU_X86_AMD_SEV': 'sev, by AMD',
    'HW_CPU_X86_AMD_SEV_ES': 'sev_es, by AMD',
    'HW_CPU_X86_AMD_SEV_SNP': 'sev_snp, by AMD',
    'HW_CPU_X86_SGX': 'sgx',
    'HW_CPU_X86_INTEL_TDX': 'tdx_host_platform, by Intel',
}


FIRMWARE = inspection_rules.rule({'actions': [{'op': 'add-traits', 'args': {'map': 'firmware'}}]})


@pytest.fixture(scope='module')
def of_nova():
    """nova's module of processor traits. Import it late: each process would spend a second on it."""
    return importlib.import_module('nova.virt.libvirt.utils')


def traits_of(document):
    rules = [*inspection_rules.standard(), FIRMWARE]
    evaluation = rule_evaluation.evaluate(rules, rule_evaluation.facts_of(document))
    assert evaluation.is_good
    return list(evaluation.traits)


def test_the_golden_file_is_complete():
    machines = {name: traits_of(document) for name, document in MACHINES.items()}
    if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
        DATA.write_text('# Written by tests/unit/test_real_cpus.py.\n' + yaml.safe_dump(machines, width=118))
    # A newer release of archspec may have more.
    assert set(GOLDEN) <= set(MACHINES)
    assert len(real_cpus.archspec_cpus()) >= 37
    assert len(real_cpus.hp_samples()) == 19


@pytest.mark.parametrize('name', GOLDEN)
def test_traits_of_machines(name):
    assert traits_of(MACHINES[name]) == GOLDEN[name]


X86 = [name for name, data in MACHINES.items() if data['inventory'].get('cpu', {}).get('architecture') == 'x86_64']


@pytest.mark.parametrize('name', X86)
def test_x86_as_nova(name, of_nova):
    """The traits equal those of nova's libvirt driver, except the explained ones."""
    flags = MACHINES[name]['inventory']['cpu']['flags']
    nova = of_nova.cpu_features_to_traits({LIBVIRT.get(flag, flag) for flag in flags})
    ours = set(traits_of(MACHINES[name]))
    assert {trait for trait, has in nova.items() if has} == ours - set(BEYOND_NOVA)


def test_every_name_of_nova_is_in_the_table(of_nova):
    """With all flags of the kernel, a processor has each trait of nova's table."""
    libvirt = {name: flag for flag, name in LIBVIRT.items()}
    flags = [libvirt.get(name, name) for name in of_nova.CPU_TRAITS_MAPPING]
    document = {'inventory': {'cpu': {'architecture': 'x86_64', 'model_name': 'AMD', 'flags': flags}}}
    assert set(of_nova.cpu_features_to_traits(set())) <= set(traits_of(document))
