"""What BMCs of several vendors show in their own ways."""

import pytest

from ironic_traits.matching import bmc_facts
from ironic_traits.matching.facts import NodeFacts
from ironic_traits.redfish import inspections
from tests.support.redfish_trees import V1, Documents, collection, to, traits

ONE = '/Systems/1'


def inspected(documents=(), **system):
    """What an inspection finds in a System with these properties."""
    return inspections.inspect(Documents({**collection('/Systems', **{'1': system}), **dict(documents)}), V1 + ONE)


def redfish(inspection, key):
    return inspection.plugin_data['redfish'].get(key)


@pytest.mark.parametrize(('attributes', 'switches'), [
    # AMI: codes of the setup menu, and the name before the value.
    ({'PCIS007': 'Enabled', 'Rome0565': 'Enabled', 'Rome0162': 'Auto'}, {'sriov': True, 'virtualization': True}),
    ({'PCIS007': 'PCIS007Disabled'}, {'sriov': False}),
    # Supermicro: numbers at the end, and booleans.
    ({'SR_IOVSupport_002B': 'Enabled', 'SecureBootEnable': False, 'Hyper_Threading_ALL__00AB': 'Disable'},
     {'sriov': True, 'secure_boot': False, 'smt': False}),
    ({'IntelVirtualizationTechnology': 'Enable', 'IntelVTforDirectedI_O_VT_d_0032': 'Enable'},
     {'virtualization': True, 'iommu': True}),
    # HPE Cray and Gigabyte: spaces, and objects with the value.
    ({'SMT Control': {'current_value': 'Enabled'}, 'SVM Mode': {'current_value': 'Disabled'}},
     {'smt': True, 'virtualization': False}),
    # Cisco.
    ({'IntelHyperThread': 'Enabled', 'IntelVT': 'Disabled', 'IntelVTD': 'Enabled'},
     {'smt': True, 'virtualization': False, 'iommu': True}),
    # Huawei: the name says the opposite, the value what a person sees.
    ({'ProcessorHyperThreadingDisable': 'Enabled', 'ProcessorVmxEnable': 'Enabled', 'SRIOVEnable': 'Disabled'},
     {'smt': True, 'virtualization': True, 'sriov': False}),
    # With "Software" the operating system decides, and the number of an ASID is no switch.
    ({'IntelSgx': 'Software', 'CpuMinSevAsid': 1}, {}),
])  # fmt: skip
def test_switches(attributes, switches):
    found = inspected({'/b': {'Attributes': attributes}}, Bios=to('/b'))
    assert redfish(found, 'switches') == switches


@pytest.mark.parametrize(('attributes', 'mode'), [
    ({'FBO001': 'UEFI'}, 'uefi'),
    ({'FBO001': 'FBO001LEGACY'}, 'bios'),
    ({'BootModeSelect_00D2': 'Legacy'}, 'bios'),
    ({'BootType': 'UEFIBoot'}, 'uefi'),
    ({'Boot mode select': 'DUAL'}, None),
])  # fmt: skip
def test_boot_modes(attributes, mode):
    found = inspected({'/b': {'Attributes': attributes}}, Bios=to('/b'))
    assert found.inventory.get('boot', {}).get('current_boot_mode') == mode


def test_ilo_4():
    """Links are below Oem.Hp, disks at the Smart Array, and the attributes of the BIOS in its document."""
    names = ('BIOS', 'SecureBoot', 'SmartStorage', 'PCIDevices', 'NetworkAdapters')
    found = inspected(
        {
            '/BIOS': {'@odata.id': '/x', 'Id': 'Bios', 'BootMode': 'LegacyBios', 'ProcHyperthreading': 'Enabled'},
            '/SecureBoot': {'SecureBootEnable': False},
            '/SmartStorage': {'Links': {'ArrayControllers': to('/a')}},
            **collection('/a', **{'0': {'Links': {'PhysicalDrives': to('/a/0/d')}}}),
            **collection('/a/0/d', **{'0': {'CapacityMiB': 1024, 'MediaType': 'HDD', 'InterfaceType': 'SAS'}}),
            **collection('/PCIDevices', g={'VendorID': 4318, 'DeviceID': 4141, 'ClassCode': 3, 'SubclassCode': 2}),
            **collection('/NetworkAdapters', n={'Name': 'HPE Ethernet 25Gb 2-port MCX4121A-ACFT Adapter'}),
            '/Chassis': {'Members': []},
        },
        Oem={'Hp': {'Links': {name: to(f'/{name}') for name in names}}},
        Manufacturer='HPE',
    )
    assert found.unread.keys() == {'processors', 'memory', 'firmware'}
    assert found.inventory['boot'] == {'current_boot_mode': 'bios'}
    assert found.inventory['disks'] == [{'name': '0', 'size': 2**30, 'protocol': 'SAS', 'rotational': True}]
    assert (redfish(found, 'switches'), redfish(found, 'secure_boot')) == ({'smt': True}, False)
    assert traits(found) == [
        'CUSTOM_BOOT_MODE_BIOS', 'CUSTOM_GPU_NVIDIA_K80', 'CUSTOM_NIC_MELLANOX_CONNECTX_4', 'HW_CPU_HYPERTHREADING',
        'STORAGE_DISK_HDD',
    ]  # fmt: skip


@pytest.mark.parametrize('text', ['          ', 'To be filled by O.E.M.', 'Default string', 'Not Specified', 'N/A'])
def test_what_stands_for_nothing(text):
    assert inspected(SerialNumber=text, SKU='P1-SKU', Manufacturer=text).inventory['system_vendor'] == {}


@pytest.mark.parametrize('chassis', [
    {'Drives': to('/d')},
    {'Links': {'Drives': [to('/d/0')]}},
    {'Drives': to('/d'), 'Links': {'Drives': [to('/d/0')]}},
])  # fmt: skip
def test_disks_of_the_chassis(chassis):
    documents = {
        '/c': chassis,
        **collection('/d', **{'0': {'Model': 'M', 'CapacityBytes': 2**40, 'MediaType': 'SSD', 'Protocol': 'NVMe'}}),
    }
    found = inspected(documents, Links={'Chassis': [to('/c')]})
    assert [disk['model'] for disk in found.inventory['disks']] == ['M']


ADAPTER = {'Manufacturer': 'Broadcom Inc. and subsidiaries', 'Model': 'BRCM 2P 25G SFP 57414S OCP NIC'}


@pytest.mark.parametrize(('documents', 'system'), [
    ({'/c': {'NetworkAdapters': to('/n')}}, {'Links': {'Chassis': [to('/c')]}}),
    (collection('/i', i={'Links': {'NetworkAdapter': to('/n/a')}}), {'NetworkInterfaces': to('/i')}),
    ({}, {'Oem': {'Hpe': {'Links': {'NetworkAdapters': to('/n')}}}}),
    # NVIDIA: the chassis names the System. HPE Cray: it has its name.
    (collection('/Chassis', x={'Links': {'ComputerSystems': [to(ONE)]}, 'NetworkAdapters': to('/n')}), {}),
    (collection('/Chassis', **{'1': {'NetworkAdapters': to('/n')}, '2': {'NetworkAdapters': to('/other')}}), {}),
])  # fmt: skip
def test_where_adapters_are(documents, system):
    found = inspected({**documents, **collection('/n', a=ADAPTER)}, **system)
    assert [each['model'] for each in redfish(found, 'adapters')] == [ADAPTER['Model']]
    assert 'adapters' not in found.unread


@pytest.mark.parametrize(('adapter', 'trait'), [
    (ADAPTER, 'CUSTOM_NIC_BROADCOM_BCM57414'),
    ({'Manufacturer': 'MLNX', 'Model': 'HPE InfiniBand HDR100/Ethernet 100Gb 1-port MCX653105A-ECAT Adapter'},
     'CUSTOM_NIC_MELLANOX_CONNECTX_6'),
    ({'Model': 'BlueField-2 DPU 100GbE Dual-Port', 'PartNumber': 'MBF2H536C'}, 'CUSTOM_NIC_MELLANOX_BLUEFIELD_2'),
    ({'Name': 'IO_Board_0_CX7_0', 'Model': 'P4768-B01'}, 'CUSTOM_NIC_MELLANOX_CONNECTX_7'),
    ({'Model': 'R4K44A', 'Description': 'SS11 200Gb 2P NIC Mezz REV02 (HSN)'}, 'CUSTOM_NIC_HPE_SLINGSHOT_11'),
    ({'Name': 'Intel(R) Ethernet Server Adapter I350-T4'}, 'CUSTOM_NIC_INTEL_I350'),
    ({'Model': 'Intel(R) Ethernet 25G 2P XXV710 Adapter'}, 'CUSTOM_NIC_INTEL_XXV710'),
    ({'Name': 'Marvell 2P 25GbE SFP28 QL41232HQCU-HC OCP3 Adapter'}, 'CUSTOM_NIC_MARVELL_QL41232'),
    ({'Name': 'Network Adapter View', 'Manufacturer': 'Acme'}, None),
])  # fmt: skip
def test_models_of_adapters(adapter, trait):
    found = inspected(
        {'/c': {'NetworkAdapters': to('/n')}, **collection('/n', a=adapter)}, Links={'Chassis': [to('/c')]}
    )
    assert [each for each in traits(found) if each.startswith('CUSTOM_NIC_')] == [trait] * bool(trait)


@pytest.mark.parametrize(('device', 'names'), [
    ({'class': '0x020000', 'vendor_id': '0x15b3', 'product_id': '0x101d'}, {'CUSTOM_NIC_MELLANOX_CONNECTX_6_DX'}),
    ({'class': 'NetworkController', 'vendor_id': '8086', 'product_id': '1592'}, {'CUSTOM_NIC_INTEL_E810'}),
    ({'class': '0x030000', 'vendor_id': '15b3', 'product_id': '101d'}, set()),
    ({'class': None, 'vendor_id': [], 'product_id': 1}, set()),
])  # fmt: skip
def test_adapters_among_the_pci_devices(device, names):
    """Those of the ramdisk, too, and without pci.ids on the machine."""
    assert bmc_facts.nic_models(NodeFacts({}, {'pci_devices': [device]})).traits == names


@pytest.mark.parametrize(('speed', 'names'), [
    (25000, {'CUSTOM_NIC_SPEED_25G'}),
    (100, set()),
    (2500, set()),
    (True, set()),
    ('1000', set()),
    (None, set()),
])  # fmt: skip
def test_speeds(speed, names):
    assert bmc_facts.nic_speeds(NodeFacts({'interfaces': [{'speed_mbps': speed}]})).traits == names


@pytest.mark.parametrize(('product', 'names'), [('GB200 NVL', ['CUSTOM_GPU_NVIDIA_GB200']), ('R750', [])])
def test_gpus_without_a_name(product, names):
    """Those of a GB200 have none, but the System has."""
    found = inspected(collection('/p', g={'ProcessorType': 'GPU'}), Processors=to('/p'), Model=product)
    assert [each for each in traits(found) if 'GPU' in each] == names


@pytest.mark.parametrize(('model', 'trait'), [
    ('Intel(R) Xeon(R) Gold 6354', 'CUSTOM_CPU_VENDOR_INTEL'),
    ('AMD EPYC 9654 96-Core Processor', 'CUSTOM_CPU_VENDOR_AMD'),
    ('Hygon C86 7280 32-core Processor', 'CUSTOM_CPU_VENDOR_HYGON'),
    ('Ampere(R) Altra(R) Processor', 'CUSTOM_CPU_VENDOR_AMPERE'),
    ('HUAWEI Kunpeng 920 5250', 'CUSTOM_CPU_VENDOR_HISILICON'),
    ('Grace A02', 'CUSTOM_CPU_VENDOR_NVIDIA'),
    ('POWER9', 'CUSTOM_CPU_VENDOR_IBM'),
])  # fmt: skip
def test_vendors_of_processors(model, trait):
    assert bmc_facts.cpu_vendor(NodeFacts({'cpu': {'model_name': model}})).traits == {trait}
