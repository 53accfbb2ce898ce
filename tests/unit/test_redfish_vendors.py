"""What BMCs of several vendors show in their own ways."""

import pytest

from ironic_traits.redfish import inspections
from tests.support.redfish_trees import V1, Documents, collection, to

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
    assert found.unread.keys() == {'firmware'}
    assert found.inventory['boot'] == {'current_boot_mode': 'bios'}
    assert found.inventory['disks'] == [{'name': '0', 'size': 2**30, 'protocol': 'SAS', 'rotational': True}]
    assert (redfish(found, 'switches'), redfish(found, 'secure_boot')) == ({'smt': True}, False)


@pytest.mark.parametrize('text', ['          ', 'To be filled by O.E.M.', 'Default string', 'Not Specified', 'N/A'])
def test_what_stands_for_nothing(text):
    assert inspected(SerialNumber=text, SKU='P1-SKU', Manufacturer=text).inventory['system_vendor'] == {}


@pytest.mark.parametrize('chassis', [{'Drives': to('/d')}, {'Links': {'Drives': [to('/d/0')]}}])
def test_disks_of_the_chassis(chassis):
    documents = {
        '/c': chassis,
        **collection('/d', **{'0': {'Model': 'M', 'CapacityBytes': 2**40, 'MediaType': 'SSD', 'Protocol': 'NVMe'}}),
    }
    found = inspected(documents, Links={'Chassis': [to('/c')]})
    assert [disk['model'] for disk in found.inventory['disks']] == ['M']
