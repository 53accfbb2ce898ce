"""The maps from facts to traits, and their tables."""

import doctest
import importlib.resources

import pytest

from ironic_traits.deploy import lldp
from ironic_traits.matching import fact_maps, pci_names, trait_names, traits
from ironic_traits.matching.facts import NodeFacts
from tests.support import real_cpus, yaml_files

ETHTOOL = (real_cpus.SAMPLES / 'ethtool_k').read_text().splitlines()[1:]
FEATURES = dict((part.strip() for part in line.split(':', 1)) for line in ETHTOOL)


def result(name, inventory, **plugin_data):
    return fact_maps.MAPS[name](NodeFacts(inventory, plugin_data))


def traits_of(name, inventory, **plugin_data):
    return sorted(result(name, inventory, **plugin_data).traits)


@pytest.mark.parametrize('module', [lldp, pci_names, trait_names])
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert result.failed == 0


def entries():
    for path in importlib.resources.files('ironic_traits.matching').joinpath('fact_tables').iterdir():
        for section, rows in yaml_files.load(path).items():
            yield from ((f'{path.name}, {section}', row) for row in rows)


def test_every_entry_has_a_source_and_valid_traits():
    rows = list(entries())
    assert len(rows) > 170
    for table, row in rows:
        assert row['source'], (table, row)
        for name in row.get('traits', ()):
            assert traits.is_trait(name), (table, row)
            assert not name.startswith('COMPUTE_'), (table, row)
        assert traits.is_trait(row.get('prefix', 'CUSTOM_') + 'X')


def test_no_entry_is_there_twice():
    rows = [
        (table, *((key, str(row[key])) for key in row if key not in ('traits', 'source'))) for table, row in entries()
    ]
    assert sorted(rows) == sorted(set(rows))


@pytest.mark.parametrize(('architecture', 'expected'), [
    ('x86_64', ['HW_ARCH_X86_64']),
    ('AMD64', ['HW_ARCH_X86_64']),
    ('aarch64', ['HW_ARCH_AARCH64']),
    ('ppc64le', ['HW_ARCH_PPC64LE']),
    ('s390x', ['HW_ARCH_S390X']),
    ('armv7l', ['HW_ARCH_ARMV7']),
    ('i586', ['HW_ARCH_I686']),
    ('riscv64', []),
    ('x86_64\n', ['HW_ARCH_X86_64']),
    ('../../x', []),
    (5, []),
    (None, []),
])  # fmt: skip
def test_architectures(architecture, expected):
    assert traits_of('architecture', {'cpu': {'architecture': architecture}}) == expected


def test_flags_are_whole_words():
    cpu = {'architecture': 'x86_64', 'flags': ['avx2', 'ht', 'hypervisor', 'AVX']}
    assert traits_of('cpu-flags', {'cpu': cpu}) == ['HW_CPU_X86_AVX2']


@pytest.mark.parametrize(('model', 'expected'), [
    ('Intel(R) Xeon(R) Gold 6132 CPU', ['HW_CPU_X86_INTEL_PCID', 'HW_CPU_X86_INTEL_SSBD', 'HW_CPU_X86_STIBP']),
    ('AMD EPYC 7302 16-Core Processor', ['HW_CPU_X86_AMD_IBPB', 'HW_CPU_X86_AMD_SSBD', 'HW_CPU_X86_STIBP']),
    ('Hygon C86 7185 32-core Processor', ['HW_CPU_X86_AMD_IBPB', 'HW_CPU_X86_AMD_SSBD', 'HW_CPU_X86_STIBP']),
    ('', ['HW_CPU_X86_STIBP']),
])  # fmt: skip
def test_traits_of_vendors(model, expected):
    """The kernel has one flag name for all vendors, os-traits has one trait for each vendor."""
    cpu = {'architecture': 'x86_64', 'flags': ['ssbd', 'ibpb', 'stibp', 'pcid'], 'model_name': model}
    assert traits_of('cpu-flags', {'cpu': cpu}) == expected


def test_the_same_flag_on_another_architecture():
    """A flag only sets traits of the processor's own architecture."""
    flags = ['aes', 'sha2', 'sse2']
    for architecture, expected in (
        ('aarch64', ['HW_CPU_AARCH64_AES', 'HW_CPU_AARCH64_SHA2']),
        ('x86_64', ['HW_CPU_X86_AESNI', 'HW_CPU_X86_SSE2']),
        ('i686', ['HW_CPU_X86_AESNI', 'HW_CPU_X86_SSE2']),
        ('s390x', []),
    ):
        assert traits_of('cpu-flags', {'cpu': {'architecture': architecture, 'flags': flags}}) == expected
    found = result('cpu-flags', {'cpu': {'flags': flags}})
    assert (found.traits, found.warnings) == (set(), ['cpu-flags: the processor has flags, but no architecture'])


def test_redfish_has_no_flags():
    assert result('cpu-flags', {'cpu': {'architecture': 'x86_64'}}).warnings == [
        'cpu-flags: the processor has no flags'
    ]


def test_flags_from_extra_hardware():
    rows = [
        ['system', 'kernel', 'arch', 'x86_64'],
        ['cpu', 'physical_0', 'vendor', 'Intel Corp.'],
        ['cpu', 'physical_0', 'flags', 'fpu pcid avx'],
    ]
    assert traits_of('cpu-flags', {}, data=rows) == ['HW_CPU_X86_AVX', 'HW_CPU_X86_INTEL_PCID']


@pytest.mark.parametrize(('disks', 'expected'), [
    ([{'rotational': True}], ['STORAGE_DISK_HDD']),
    ([{'rotational': False}, {'rotational': True}], ['STORAGE_DISK_HDD', 'STORAGE_DISK_SSD']),
    ([{'rotational': True, 'vendor': '0x1af4'}], []),
    ([{'rotational': None}, {'rotational': 'yes'}, {}, 'x', None], []),
    ({'rotational': True}, []),
    (None, []),
])  # fmt: skip
def test_disks(disks, expected):
    assert traits_of('disks', {'disks': disks}) == expected


NICS = [
    *(
        'HW_NIC_OFFLOAD_GRO',
        'HW_NIC_OFFLOAD_GSO',
        'HW_NIC_OFFLOAD_RX',
        'HW_NIC_OFFLOAD_RXHASH',
        'HW_NIC_OFFLOAD_RXVLAN',
    ),
    *('HW_NIC_OFFLOAD_SG', 'HW_NIC_OFFLOAD_TSO', 'HW_NIC_OFFLOAD_TX', 'HW_NIC_OFFLOAD_TXVLAN'),
]


def test_nics():
    """NIC traits follow from real ``ethtool -k`` output, both in the ramdisk's form and in that of Ironic's hook."""
    rows = [['network', 'eth0', key, value] for key, value in FEATURES.items()]
    assert traits_of('nics', {}, data=rows) == NICS
    assert traits_of('nics', {}, extra={'network': {'eth0': FEATURES}}) == NICS
    interfaces = {'interfaces': [{'name': 'eth1'}]}
    assert traits_of('nics', interfaces, data=rows) == []
    assert traits_of('nics', {}, extra={'network': {'lo': FEATURES}}) == []


@pytest.mark.parametrize(('inventory', 'expected'), [
    ({'boot': {'current_boot_mode': 'uefi'}}, ['CUSTOM_BOOT_MODE_UEFI']),
    ({'boot': {'current_boot_mode': 'x'}}, []),
    (
        {'system_vendor': {'firmware': {'vendor': 'Dell Inc.', 'version': '2.19.1', 'build_date': 'x'}}},
        ['CUSTOM_FIRMWARE_DELL_INC_2_19_1', 'CUSTOM_FIRMWARE_VENDOR_DELL_INC'],
    ),
    ({'system_vendor': {'firmware': {'vendor': '', 'version': '1'}}}, []),
])  # fmt: skip
def test_firmware(inventory, expected):
    assert traits_of('firmware', inventory) == expected


def test_a_name_that_is_too_long():
    found = result('firmware', {'system_vendor': {'firmware': {'vendor': 'x' * 300}}})
    assert (found.traits, len(found.warnings)) == (set(), 1)


@pytest.mark.parametrize(('device', 'expected'), [
    ({'vendor_id': '10de', 'product_id': '20b0', 'class': '030200'}, ['CUSTOM_GPU_NVIDIA_A100']),
    ({'vendor_id': '0x10DE', 'product_id': '0x2331', 'class': '0x030200'}, ['CUSTOM_GPU_NVIDIA_H100']),
    ({'vendor_id': '0x1002', 'product_id': '0x738c', 'class': 'DisplayController'}, ['CUSTOM_GPU_AMD_MI100']),
    ({'vendor_id': '8086', 'product_id': '0bd5', 'class': '038000'}, ['CUSTOM_GPU_INTEL_MAX_1550']),
    ({'vendor_id': '1a03', 'product_id': '2000', 'class': '030000'}, []),
    ({'vendor_id': '10de', 'product_id': '20b0', 'class': '020000'}, []),
    ({'vendor_id': '10de', 'product_id': 'x', 'class': '030000'}, []),
    ({'vendor_id': 4318, 'product_id': None, 'class': 3}, []),
    ({}, []),
])  # fmt: skip
def test_pci_devices(device, expected):
    """PCI devices come from the ramdisk's plugin data, and from Redfish's inventory."""
    assert traits_of('pci', {}, pci_devices=[device]) == expected
    assert traits_of('pci', {'pci_devices': [device]}) == expected


def test_names_of_pci_devices(tmp_path, monkeypatch):
    """Names come from the machine's list. Unknown devices have numbers."""
    device = {'vendor_id': '10de', 'product_id': '2fff', 'class': '030200'}
    other = {'vendor_id': '1e52', 'product_id': '401e', 'class': '120000'}
    for text, expected in (
        (None, ['CUSTOM_ACCELERATOR_1E52_401E', 'CUSTOM_GPU_NVIDIA_2FFF']),
        (
            '# comment\n10de  NVIDIA Corporation\n\t2fff  GX999 [Future 9000]\n'
            '1e52  Tenstorrent Inc\n\t401e  Wormhole\nC 03  Display controller\n',
            ['CUSTOM_ACCELERATOR_TENSTORRENT_INC_WORMHOLE', 'CUSTOM_GPU_NVIDIA_FUTURE_9000'],
        ),
    ):
        path = tmp_path / str(bool(text))
        if text:
            path.write_text(text)
        monkeypatch.setattr(pci_names, 'FILES', (str(tmp_path / 'none'), str(path)))
        assert traits_of('pci', {}, pci_devices=[device, other]) == expected


@pytest.mark.parametrize('name', fact_maps.MAPS)
@pytest.mark.parametrize('value', [None, 5, 'x', [], {}, [None], [[]], [{}], {'x': None}, {'0': [1]}, True])
def test_facts_of_another_shape_give_no_traits(name, value):
    keys = ('cpu', 'disks', 'interfaces', 'boot', 'system_vendor', 'pci_devices', 'data', 'extra')
    inner = ('architecture', 'flags', 'model_name', 'network', 'firmware', 'cpu', 'system')
    for inventory in ({key: value for key in keys}, {key: {each: value for each in inner} for key in keys}):
        assert not traits_of(name, inventory, **inventory)
