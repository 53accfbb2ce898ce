"""Small trees of Redfish documents, as the BMCs of several vendors have them: {kind: {path: document}}."""

from typing import Any

from tests.support.redfish_trees import collection, to

ONE = '/Systems/1'


def _tree(
    processors: dict[str, Any],
    documents: dict[str, Any] | None = None,
    bios: dict[str, Any] | None = None,
    **system: Any,
) -> dict[str, Any]:
    """Return a tree with one System, its processors, the attributes of its BIOS and more documents."""
    links = {'Processors': to(f'{ONE}/Processors'), 'Links': {'Chassis': [to('/Chassis/1')]}}
    links |= {'MemorySummary': {'TotalSystemMemoryGiB': 64}}
    links |= {'Bios': to(f'{ONE}/Bios')} if bios is not None else {}
    return {
        **collection('/Systems', **{'1': links | system}),
        **collection('/Chassis', **{'1': {'Id': '1'}}),
        **collection(f'{ONE}/Processors', **processors),
        **({f'{ONE}/Bios': {'Attributes': bios}} if bios is not None else {}),
        '/UpdateService': {'FirmwareInventory': to('/UpdateService/FirmwareInventory')},
        **collection('/UpdateService/FirmwareInventory', bios={'Name': 'BIOS', 'Version': '1.0'}),
        **(documents or {}),
    }


def _cpu(model: str, registers: str = '', **more: Any) -> dict[str, Any]:
    ids = {'IdentificationRegisters': registers} if registers else {}
    return {'ProcessorType': 'CPU', 'Model': model, 'TotalCores': 32, 'TotalThreads': 64, 'ProcessorId': ids, **more}


def _storage(**drives: dict[str, Any]) -> dict[str, Any]:
    return collection('/Storage', a={'Drives': [to(f'/Drives/{name}') for name in drives]}) | {
        f'/Drives/{name}': {'Id': name, 'CapacityBytes': 10**12, **drive} for name, drive in drives.items()
    }


def _adapters(**adapters: dict[str, Any]) -> dict[str, Any]:
    return {'/Chassis/1': {'Id': '1', 'NetworkAdapters': to('/NetworkAdapters')}} | collection(
        '/NetworkAdapters', **adapters
    )


def _nic(mac: str, **more: Any) -> dict[str, Any]:
    return {'/Nics': {'Members': [to('/Nics/a')]}, '/Nics/a': {'Id': 'a', 'MACAddress': mac, **more}}


_STORAGE, _NICS = {'Storage': to('/Storage')}, {'EthernetInterfaces': to('/Nics')}
_GPU = {'ProcessorType': 'GPU'}

KINDS: dict[str, dict[str, Any]] = {
    # The GPU is the first processor, and the summary has its name.
    'dell': _tree(
        {'Video.Slot.1': {**_GPU, 'Model': 'NVIDIA H100 PCIe', 'Manufacturer': 'NVIDIA Corporation'},
         'CPU.Socket.1': _cpu('Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz', '0x000606A6', Manufacturer='Intel')},
        _storage(ssd={'Protocol': 'PCIe', 'Name': 'PCIe NVMe SSD', 'MediaType': 'SSD'}, hdd={'MediaType': 'HDD'})
        | _adapters(n={'Manufacturer': 'Broadcom Inc.', 'Model': 'BRCM 2P 25G SFP 57414S OCP NIC'})
        | _nic('AA:00:00:00:00:01', SpeedMbps=25000),
        {'LogicalProc': 'Enabled', 'ProcVirtualization': 'Enabled', 'SriovGlobalEnable': 'Enabled',
         'BootMode': 'Uefi', 'IntelSgx': 'Off'},
        Manufacturer='Dell Inc.', Model='PowerEdge R750', ProcessorSummary={'Model': 'NVIDIA H100 PCIe'},
        TrustedModules=[{'InterfaceType': 'TPM2_0', 'Status': {'State': 'Enabled'}}], **_STORAGE, **_NICS,
    ),
    # The words of the signature are swapped; disks and adapters are in places of HPE's own.
    'hpe': _tree(
        {'1': _cpu('AMD EPYC 7763 64-Core Processor    ', '0x0f1100a0fbff178b', InstructionSet='x86-64')},
        {'/Smart': {'Links': {'ArrayControllers': to('/Arrays')}},
         **collection('/Arrays', **{'0': {'Links': {'PhysicalDrives': to('/Physical')}}}),
         **collection('/Physical', **{'0': {'CapacityMiB': 10**6, 'MediaType': 'SSD', 'InterfaceType': 'SATA'}}),
         **collection('/Base', **{'1': {'Name': 'ConnectX-6 100GE 1P NIC'}})},
        {'ProcSMT': 'Enabled', 'ProcAmdVirtualization': 'Disabled', 'Sriov': 'Enabled', 'BootMode': 'Uefi'},
        Manufacturer='HPE', Model='ProLiant DL385 Gen10 Plus v2',
        Oem={'Hpe': {'Links': {'SmartStorage': to('/Smart'), 'NetworkAdapters': to('/Base')}}},
    ),
    # GPUs have no names, but numbers of PCI devices.
    'lenovo': _tree(
        {'1': _cpu('Intel(R) Xeon(R) Platinum 8362 CPU @ 2.80GHz', '0x000606a6bfebfbff'),
         'g': {**_GPU, 'Manufacturer': 'NVIDIA Corporation', 'ProcessorId': {'VendorId': '0x10de'}}},
        collection('/Functions', g={'VendorId': '0x10de', 'DeviceId': '0x26b5', 'DeviceClass': 'DisplayController'}),
        {'Processors_HyperThreading': 'Enabled', 'BootModes_SystemBootMode': 'UEFIMode'},
        Manufacturer='Lenovo', Model='ThinkSystem SR670 V2', PCIeDevices=[to('/Device')],
    ) | {'/Device': {'PCIeFunctions': to('/Functions')}},
    'supermicro': _tree(
        {'1': _cpu('Intel(R) Xeon(R) Platinum 8480+', '0xBFEBFBFF000806F8', Manufacturer='Intel(R) Corporation')},
        _storage(**{'Disk.Bay.2': {'Protocol': 'NVMe', 'MediaType': 'SSD', 'Model': 'KIOXIA'}})
        | _adapters(n={'Manufacturer': 'Intel', 'Model': 'AOC-S25G: Intel E810-XXVAM2'}),
        {'Hyper_Threading_ALL__00AB': 'Enable', 'SR_IOVSupport_002B': 'Enabled', 'BootModeSelect_00D2': 'UEFI',
         'IntelVirtualizationTechnology_0012': 'Enable'},
        Manufacturer='Supermicro', Model='SYS-221H', SKU='To be filled by O.E.M.', **_STORAGE,
        ProcessorSummary={'Model': 'Intel(R) Xeon(R) processor'},
    ),
    # Disks of an unknown kind; PCI functions without the number of the device.
    'gigabyte': _tree(
        {'1': _cpu('AMD EPYC 7702 64-Core Processor   ', '178bfbff00830f10', Manufacturer='Advanced Micro Devices')},
        _storage(**{'1': {'Model': 'SAMSUNG MZ7LH1T9HMLT-00005'}})
        | {'/f': {'VendorId': '0x15b3', 'ClassCode': '0x020000', 'Description': 'MT27800 Family [ConnectX-5]'}},
        {'FBO001': 'UEFI', 'PCIS007': 'Enabled', 'Rome0565': 'Enabled', 'Rome0059': 'Auto'},
        Manufacturer='GIGABYTE', Model='H262-Z63-00', PCIeFunctions=[to('/f')], **_STORAGE,
    ),
    'huawei': _tree(
        {'1': _cpu('Kunpeng 920-4826', '10-D0-1F-48-00-00-00-00', Manufacturer='HiSilicon', ProcessorArchitecture='ARM',
                   TotalThreads=32)},
        _adapters(n={'Model': 'Hi1822', 'Manufacturer': 'Huawei'}),
        {'BootType': 'UEFIBoot', 'SRIOVEnable': 'Enabled'},
        Manufacturer='Huawei', Model='TaiShan 200 (Model 2280)',
        TrustedModules=[{'InterfaceType': 'TPM2_0', 'Status': {'State': 'Enabled'}}],
    ),
    # Only the vendor and the name are there.
    'ampere': _tree(
        {'cpu0': {'ProcessorType': 'CPU', 'Manufacturer': 'Ampere(R)', 'Model': 'Ampere(R) Altra(R) Max Processor',
                  'TotalCores': 128}},
        Boot={'BootSourceOverrideMode': 'UEFI'}, Model='Mt. Collins',
    ),
    # The name of the processor is its family. The tray with the GPUs is another System.
    'dgx': _tree(
        {'CPU0': {'ProcessorType': 'CPU', 'TotalCores': 56, 'TotalThreads': 112, 'ProcessorArchitecture': 'x86',
                  'ProcessorId': {'EffectiveFamily': 'Intel(R) Xeon(R) Platinum 8480CL'}}},
        {'/Systems': {'Members': [to(ONE), to('/Systems/HGX')]},
         '/Systems/HGX': {'Id': 'HGX', 'Processors': to('/HGX')},
         **collection('/HGX', g={**_GPU, 'Model': 'H100 80GB HBM3', 'Manufacturer': 'NVIDIA'},
                      f={'ProcessorType': 'FPGA', 'Manufacturer': 'NVIDIA'}),
         '/f': {'VendorId': '0x15b3', 'DeviceId': '0x1021', 'ClassCode': '0x020700'}},
        {'VMX': 'Enable'}, Model='DGXH100', Manufacturer='NVIDIA', PCIeFunctions=[to('/f')],
    ),
    # No name anywhere: the SoC is that of Grace. The adapters are at chassis that name the System.
    'gb200': _tree(
        {'CPU_0': {'ProcessorType': 'CPU', 'Version': 'Grace A02', 'Manufacturer': 'NVIDIA', 'TotalCores': 72,
                   'ProcessorId': {'IdentificationRegisters': '0x00000002036B0241'}}},
        {'/Systems': {'Members': [to(ONE), to('/Systems/HGX')]},
         '/Systems/HGX': {'Id': 'HGX', 'Processors': to('/HGX'), 'Model': 'GB200 NVL', 'Manufacturer': 'NVIDIA'},
         **collection('/HGX', g=_GPU),
         **collection('/Chassis', IO={'Links': {'ComputerSystems': [to(ONE)]}, 'NetworkAdapters': to('/n')}, BMC={}),
         **collection('/n', IO_Board_0_CX7_0={'Manufacturer': 'NVIDIA', 'Model': 'P4768-B01'})},
        {}, Links={'Chassis': [to('/Chassis/BMC')]},
    ),
    # No instruction set; two nodes on one BMC, whose chassis have the same names.
    'cray': _tree(
        {'CPU0': _cpu('AMD EPYC 7A53 64-Core Processor', Manufacturer='Advanced Micro Devices, Inc.',
                      ProcessorId={'EffectiveFamily': '0x19', 'EffectiveModel': '0x30', 'Step': '0x1'}),
         'GPU0': {**_GPU, 'Model': 'AMD INSTINCT MI250X (MCM) OAM LC', 'Manufacturer': 'AMD'}},
        {'/Systems': {'Members': [to(ONE), to('/Systems/2')]},
         '/Systems/2': {'Id': '2', 'Bios': to('/Bios2')},
         **_adapters(n={'Model': 'R4K44A', 'Description': 'SS11 200Gb 2P NIC Mezz REV02 (HSN)'})},
        {'SMT Control': {'current_value': 'Disabled'}, 'SVM Mode': {'current_value': 'Enabled'}},
        Links=None, Manufacturer='HPE', Model='HPE Cray EX235a',
    ),
    'cisco': _tree(
        {'CPU1': _cpu('Intel(R) Xeon(R) Gold 6348 CPU @ 2.60GHz', Manufacturer='Intel(R) Corporation',
                      ProcessorId={'EffectiveFamily': '6', 'EffectiveModel': '106', 'Step': '6'})},
        None,
        {'IntelHyperThread': 'Disabled', 'IntelVT': 'Enabled', 'IntelVTD': 'Enabled'},
        Manufacturer='Cisco Systems Inc', Model='UCSC-C240-M6', Boot={'BootSourceOverrideMode': 'UEFI'},
    ),
    # The BMC of a DPU shows no processor.
    'dpu': _tree({}, _nic('AA:00:00:00:00:02', SpeedMbps=100000), Model='BlueField-3 SmartNIC Main Card', **_NICS),
}  # fmt: skip
