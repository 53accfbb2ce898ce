"""Facts from Redfish documents: what is found, and what is not when documents are missing or wrong."""

import json

import pytest

from ironic_traits.deploy import merged_facts
from ironic_traits.deploy.base import Facts
from ironic_traits.redfish import inspections, machines, trees
from ironic_traits.redfish.trees import DirectoryTree, Unreadable
from tests.support.redfish_trees import V1, Documents, collection, gpus, to, traits

ONE = '/Systems/1'


def server(**changes):
    """A server with a GPU that is the first of its processors."""
    system = {
        'Manufacturer': ' Acme ', 'Model': 'R1', 'SerialNumber': 'S1', 'BiosVersion': '1.2', 'UUID': 'u-1',
        'Boot': {'BootSourceOverrideMode': 'UEFI'},
        'MemorySummary': {'TotalSystemMemoryGiB': 64},
        'ProcessorSummary': {'Model': 'NVIDIA H100 PCIe'},
        'TrustedModules': [{'InterfaceType': 'TPM2_0', 'Status': {'State': 'Enabled'}}],
        **{name: to(f'{ONE}/{name}') for name in ('Processors', 'Memory', 'Storage', 'EthernetInterfaces', 'Bios',
                                                  'SecureBoot')},
        'PCIeFunctions': [to('/f/0'), to('/f/1'), to('/f/2')],
    }  # fmt: skip
    cpu = {'ProcessorType': 'CPU', 'Model': 'Intel(R) Xeon(R) Gold 6354', 'InstructionSet': 'x86-64',
           'ProcessorId': {'IdentificationRegisters': '0x000606A6'}, 'TotalCores': 18, 'TotalThreads': 36}  # fmt: skip
    adapter = {'Manufacturer': 'Mellanox', 'Model': 'ConnectX-6 Dx', 'Controllers': [
        {'ControllerCapabilities': {'VirtualizationOffload': {'VirtualFunction': {'DeviceMaxCount': 127}}}}
    ]}  # fmt: skip
    return Documents(
        {
            **collection('/Systems', **{'1': system}),
            **collection('/Chassis', **{'1': {'NetworkAdapters': to('/Chassis/1/NetworkAdapters')}}),
            **collection('/Chassis/1/NetworkAdapters', a=adapter, b={'Status': {'State': 'Absent'}}),
            **collection(f'{ONE}/Processors', g={'ProcessorType': 'GPU', 'Model': 'NVIDIA H100 PCIe'}, c0=cpu, c1=cpu),
            **collection(f'{ONE}/Memory', a={'CapacityMiB': 32768}, b={'Status': {'State': 'Absent'}}),
            **collection(f'{ONE}/Storage', s={'Drives': [to('/d/0'), to('/d/1'), to('/d/2'), to('/d/3'), to('/d/0')]}),
            '/d/0': {'Id': 'd0', 'Model': 'M', 'CapacityBytes': 10**12, 'MediaType': 'SSD', 'Protocol': 'NVMe'},
            '/d/1': {'Id': 'd1', 'Model': 'N', 'CapacityBytes': 10**12},
            '/d/2': {'Id': 'bay', 'Name': 'empty'},
            '/d/3': {'Id': 'usb', 'Model': 'Virtual HDisk Device', 'CapacityBytes': 2048},
            **collection(
                f'{ONE}/EthernetInterfaces',
                n={'PermanentMACAddress': 'AA:BB:CC:00:00:01', 'SpeedMbps': 25000, 'LinkStatus': 'LinkUp'},
                v={'MACAddress': 'AA:BB:CC:00:00:02', 'Links': {'RelatedInterfaces': [to('/n')]}},
                m={'MACAddress': 'AA:BB:CC:00:00:03', 'Links': {'HostInterface': to('/m')}},
                x={'MACAddress': 'Not Available'},
            ),
            f'{ONE}/Bios': {
                'Attributes': {'ProcVirtualization': 'Enabled', 'LogicalProc': 'Disabled', 'Pwd': 'secret'}
            },
            f'{ONE}/SecureBoot': {'SecureBootCurrentBoot': 'Enabled'},
            '/f/0': {'VendorId': '0x10de', 'DeviceId': '0x2331', 'ClassCode': '0x030200'},
            '/f/1': {'VendorId': '4139', 'DeviceId': '1336', 'ClassCode': '3', 'DeviceClass': 'DisplayController'},
            '/f/2': {'Status': {'State': 'Absent'}},
            '/UpdateService': {'FirmwareInventory': to('/UpdateService/F')},
            **collection('/UpdateService/F', b={'Name': 'BIOS', 'Version': '1.2'}, c={'Name': 'no version'}),
            '/UpdateService/F/p': {'Id': 'Previous-159-1.1', 'Name': 'BIOS', 'Version': '1.1'},
            **changes,
        }
    )


def test_firmware_that_is_not_installed_is_left_out():
    tree = server()
    tree['/UpdateService/F']['Members'].append(to('/UpdateService/F/p'))
    found = inspections.inspect(tree, V1 + ONE).plugin_data['redfish']['firmware']
    assert found == [{'name': 'BIOS', 'version': '1.2'}]


def test_a_server():
    found = inspections.inspect(server(), V1 + ONE)
    assert found.unread == {}
    assert found.inventory == {
        'system_vendor': {'manufacturer': 'Acme', 'product_name': 'R1', 'serial_number': 'S1',
                          'firmware': {'version': '1.2'}},
        'cpu': {'model_name': 'Intel(R) Xeon(R) Gold 6354', 'count': 72, 'core_count': 36, 'socket_count': 2,
                'architecture': 'x86_64'},
        'boot': {'current_boot_mode': 'uefi'},
        'interfaces': [{'name': 'n', 'mac_address': 'aa:bb:cc:00:00:01', 'speed_mbps': 25000, 'has_carrier': True}],
        'disks': [{'name': 'd0', 'model': 'M', 'size': 10**12, 'protocol': 'NVMe', 'rotational': False},
                  {'name': 'd1', 'model': 'N', 'size': 10**12}],
        'memory': {'physical_mb': 65536, 'total': 2**36},
    }  # fmt: skip
    assert found.plugin_data['pci_devices'] == [
        {'vendor_id': '10de', 'product_id': '2331', 'class': '030200'},
        {'vendor_id': '102b', 'product_id': '0538', 'class': 'DisplayController'},
    ]
    assert found.plugin_data['redfish'] == {
        'system': V1 + ONE, 'uuid': 'u-1', 'secure_boot': True,
        'cpu': {'microarchitecture': 'icelake', 'family': 6, 'model': 106, 'stepping': 6},
        'accelerators': [{'type': 'GPU', 'model': 'NVIDIA H100 PCIe'}],
        'tpm': {'present': True, 'version': '2.0', 'enabled': True},
        'bios': {'ProcVirtualization': 'Enabled', 'LogicalProc': 'Disabled'},
        'switches': {'virtualization': True, 'smt': False},
        'memory': [{'name': 'a', 'capacity_mib': 32768}],
        'firmware': [{'name': 'BIOS', 'version': '1.2'}],
        'adapters': [{'name': 'a', 'vendor': 'Mellanox', 'model': 'ConnectX-6 Dx', 'virtual_functions': 127}],
    }  # fmt: skip


def test_its_traits():
    found = set(traits(inspections.inspect(server(), V1 + ONE)))
    assert len(found) >= 40
    assert found >= {'HW_ARCH_X86_64', 'HW_CPU_X86_AVX512VNNI', 'HW_CPU_X86_VMX', 'CUSTOM_GPU_NVIDIA_H100',
                     'CUSTOM_TPM_2_0', 'CUSTOM_SECURE_BOOT', 'CUSTOM_STORAGE_NVME', 'STORAGE_DISK_SSD',
                     'CUSTOM_CPU_VENDOR_INTEL', 'CUSTOM_NIC_MELLANOX_CONNECTX_6_DX', 'CUSTOM_NIC_SPEED_25G',
                     'HW_NIC_SRIOV'}  # fmt: skip
    # SMT is switched off, and the other disk is of an unknown kind.
    assert not found & {'HW_CPU_HYPERTHREADING', 'STORAGE_DISK_HDD', 'HW_CPU_X86_SGX'}


@pytest.mark.parametrize(('path', 'parts', 'changed'), [
    (f'{ONE}/Processors', ['processors'], {'cpu', 'accelerators'}),
    (f'{ONE}/Memory', ['memory'], {'memory'}),
    (f'{ONE}/Storage', ['storage'], {'disks'}),
    ('/d/1', ['storage'], {'disks'}),
    (f'{ONE}/EthernetInterfaces', ['nics'], {'interfaces'}),
    ('/Chassis', ['adapters'], {'adapters'}),
    ('/Chassis/1/NetworkAdapters/a', ['adapters'], {'adapters'}),
    (f'{ONE}/Bios', ['boot mode', 'bios'], {'boot', 'bios', 'switches'}),
    (f'{ONE}/SecureBoot', ['secure boot'], {'secure_boot'}),
    ('/f/1', ['pci'], {'pci_devices'}),
    ('/UpdateService', ['firmware'], {'firmware'}),
])  # fmt: skip
def test_a_part_fails_alone(path, parts, changed):
    tree = server()
    del tree[path]
    found, whole = inspections.inspect(tree, V1 + ONE), inspections.inspect(server(), V1 + ONE)
    assert found.unread == dict.fromkeys(parts, f"There is no document '{V1}{path}'.")
    before, after = (
        list(each.inventory.items()) + list(each.plugin_data['redfish'].items()) + list(each.plugin_data.items())
        for each in (whole, found)
    )
    assert {name for name, value in before if (name, value) not in after} - {'redfish'} == changed
    facts = Facts(found.document, found.unread, found.unknown)
    kept = merged_facts.merge(merged_facts.merge({}, Facts(whole.document)), facts)
    assert dict(merged_facts.unread(kept)) == found.unread
    assert without_remarks(kept) == whole.document


def test_an_inspection_by_a_ramdisk_keeps_what_only_a_bmc_shows():
    whole = inspections.inspect(server(), V1 + ONE)
    before = merged_facts.merge({}, Facts(whole.document))
    sent = {'inventory': {'cpu': {'architecture': 'aarch64'}, 'disks': []}, 'plugin_data': {'lldp_raw': {}}}
    after = merged_facts.with_earlier(sent, before)
    assert after['inventory'] == sent['inventory']
    assert after['plugin_data']['redfish']['switches'] == whole.plugin_data['redfish']['switches']
    # The next reading of the BMC adds to what the ramdisk has found, and does not replace it.
    merged = merged_facts.merge(after, Facts(whole.document))
    assert merged['inventory']['cpu']['architecture'] == 'aarch64'
    assert merged['inventory']['disks'] == []
    assert merged['inventory']['memory'] == whole.inventory['memory']
    assert merged_facts.with_earlier(sent, {}) == sent


def without_remarks(document):
    """Return a document without what a merge adds."""
    redfish = {name: value for name, value in document['plugin_data']['redfish'].items()
               if name not in ('unread', 'places')}  # fmt: skip
    return {**document, 'plugin_data': {**document['plugin_data'], 'redfish': redfish}}


def test_each_part_fills_its_facts_only():
    found = inspections.inspect(server(), V1 + ONE)
    filled = {f'inventory.{name}' for name in found.inventory} | {'plugin_data.pci_devices'}
    filled |= {f'plugin_data.redfish.{name}' for name in found.plugin_data['redfish']}
    listed = [place for part in inspections.PARTS.values() for place in part.facts]
    assert sorted(listed) == sorted(filled)


def test_a_system_that_cannot_be_read():
    with pytest.raises(Unreadable, match='no document'):
        inspections.inspect(server(), f'{V1}/Systems/2')


@pytest.mark.parametrize('page', [
    {'Members@odata.nextLink': f'{V1}{ONE}/Storage'},
    {'Members@odata.nextLink': f'{V1}{ONE}/Storage/', 'Members': [to(f'{ONE}/Storage')] * 2000},
    {'Members': [to('/Systems'), to(ONE)]},
])  # fmt: skip
def test_circles_end(page):
    found = inspections.inspect(server(**{f'{ONE}/Storage': page}), V1 + ONE)
    assert found.inventory['disks'] == []


def test_a_collection_without_an_end():
    class Endless(Documents):
        def get(self, path):
            if '/Memory' not in path:
                return super().get(path)
            return {'Members': [], 'Members@odata.nextLink': f'{path}/x'}

    found = inspections.inspect(Endless(server()), V1 + ONE)
    assert found.unread == {'memory': "The collection 'Memory' does not end."}


def test_more_documents_than_any_machine_has(monkeypatch):
    monkeypatch.setattr(trees, 'MAX_DOCUMENTS', 12)
    found = inspections.inspect(server(), V1 + ONE)
    assert 'processors' not in found.unread
    assert found.unread['firmware'] == 'The BMC has more than 12 documents.'


@pytest.mark.parametrize('path', ['http://other/redfish/v1/x', '//other/redfish', '/etc/passwd', '/redfish/v10'])
def test_links_that_lead_elsewhere(path):
    tree = server()
    tree[ONE] = tree[ONE] | {'Memory': {'@odata.id': path}}
    assert 'leads elsewhere' in inspections.inspect(tree, V1 + ONE).unread['memory']


def tray(**links):
    """A host whose BMC has another System with the GPUs."""
    tree = server()
    tree['/Systems'] = {'Members': [to(ONE), to('/Systems/tray')]}
    tree['/Systems/tray'] = {'Id': 'tray', 'Processors': to('/Systems/tray/Processors'), 'Links': links}
    gpu = {'ProcessorType': 'GPU', 'Model': 'MI300X', 'Manufacturer': 'AMD'}
    return Documents(tree | collection('/Systems/tray/Processors', a=gpu, b=gpu))


def test_a_host_and_its_tray():
    assert gpus(inspections.inspect(tray(), V1 + ONE)) == 3
    found = inspections.inspect(tray(), f'{V1}/Systems/tray')
    assert found.inventory['cpu']['architecture'] == 'x86_64'
    assert 'CUSTOM_GPU_AMD_MI300X' in traits(found)


def test_two_machines_in_one_chassis_are_not_one():
    tree = server()
    tree['/Systems'] = {'Members': [to(ONE), to('/Systems/2')]}
    tree[ONE] = tree[ONE] | {'Links': {'Chassis': [to('/Chassis/1')]}}
    tree['/Chassis/1'] = {'Id': '1', 'Links': {'ContainedBy': to('/Chassis/1')}}
    tree['/Systems/2'] = {**tree[ONE], 'Processors': to('/p2')}
    tree.update(collection('/p2', g={'ProcessorType': 'GPU', 'Model': 'MI300X'}))
    assert gpus(inspections.inspect(tree, V1 + ONE)) == 1
    assert inspections.inspect(tree, f'{V1}/Systems/2').inventory['cpu'] == {}


def test_a_directory(tmp_path):
    for path, document in server().items():
        (tmp_path / path.strip('/')).mkdir(parents=True)
        (tmp_path / path.strip('/') / 'index.json').write_text(json.dumps(document))
    (tmp_path / 'index.json').write_text('{}')
    tree = DirectoryTree(tmp_path)
    assert inspections.inspect(tree, V1 + ONE) == inspections.inspect(server(), V1 + ONE)
    assert list(machines.systems(trees.Reader(tree))) == [V1 + ONE]
    (tmp_path / 'Systems/1/index.json').write_text('[')
    with pytest.raises(Unreadable, match='no JSON'):
        inspections.inspect(tree, V1 + ONE)
