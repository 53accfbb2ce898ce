"""Memory, disks, network interfaces and PCI devices."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oslo_utils import netutils

from ironic_traits.redfish.machines import Found, Machine
from ironic_traits.redfish.trees import ROOT, Unreadable, inner, is_there, number, objects, text

#: Names of media that a BMC shows to the machine.
_VIRTUAL = re.compile('virtual.*(cdrom|disk|floppy|media)', re.I)


def memory(machine: Machine) -> Found:
    """Return the memory of the System, without that of its GPUs.

    :raises Unreadable: there is none, or the list cannot be read.
    """
    listed = [each for _, each in machine.reader.members(machine.system, 'Memory') if is_there(each)]
    listed = [each for each in listed if number(each, 'CapacityMiB')]
    modules = [each for each in listed if not text(each, 'MemoryDeviceType').startswith(('HBM', 'GDDR'))]
    if listed and not modules:
        return Found(redfish={'memory': []})
    total = inner(machine.system, 'MemorySummary').get('TotalSystemMemoryGiB')
    mebibytes = number({'MiB': total * 1024}, 'MiB') if isinstance(total, int | float) else 0
    mebibytes = mebibytes or sum(number(each, 'CapacityMiB') for each in modules)
    if not mebibytes:
        raise Unreadable('The BMC shows no memory.')
    values = {'physical_mb': mebibytes, 'total': mebibytes * 2**20}
    return Found({'memory': values}, {'memory': [_module(each) for each in modules]})


def _module(document: Mapping[str, Any]) -> dict[str, Any]:
    return _filled(
        name=text(document, 'DeviceLocator', 'Id'),
        capacity_mib=number(document, 'CapacityMiB'),
        type=text(document, 'MemoryDeviceType'),
        speed_mhz=number(document, 'OperatingSpeedMhz'),
        manufacturer=text(document, 'Manufacturer'),
        part_number=text(document, 'PartNumber'),
    )


def storage(machine: Machine) -> Found:
    """Return the disks: of Storage, else of what older BMCs have, else of the chassis."""
    for source in (_drives, _simple_devices, _smart_drives, _chassis_drives):
        disks = [disk for document in source(machine) if is_there(document) and (disk := _disk(document))]
        if disks:
            return Found({'disks': disks})
    return Found({'disks': []})


def _drives(machine: Machine) -> Iterator[Mapping[str, Any]]:
    for _, unit in machine.reader.members(machine.system, 'Storage'):
        yield from (drive for _, drive in machine.reader.members(unit, 'Drives'))


def _simple_devices(machine: Machine) -> Iterator[Mapping[str, Any]]:
    for _, unit in machine.reader.members(machine.system, 'SimpleStorage'):
        yield from objects(unit.get('Devices'))


def _smart_drives(machine: Machine) -> Iterator[Mapping[str, Any]]:
    """Yield the disks where iLO 4 and 5 have those of Smart Array controllers."""
    for _, unit in machine.reader.each([inner(machine.system, 'SmartStorage')]):
        for _, controller in machine.reader.members(inner(unit, 'Links'), 'ArrayControllers'):
            yield from _linked_drives(machine, (inner(controller, 'Links'),), ('PhysicalDrives', 'DiskDrives'))


def _chassis_drives(machine: Machine) -> Iterator[Mapping[str, Any]]:
    for _, chassis in machine.reader.members(inner(machine.system, 'Links'), 'Chassis'):
        yield from _linked_drives(machine, (chassis, inner(chassis, 'Links')), ('Drives',))


def _linked_drives(
    machine: Machine, holders: Iterable[Mapping[str, Any]], names: Iterable[str]
) -> Iterator[Mapping[str, Any]]:
    """Yield the drives to which documents link by several properties, each once."""
    pairs = itertools.product(holders, names)
    found = {path: drive for holder, name in pairs for path, drive in machine.reader.members(holder, name)}
    yield from found.values()


def _disk(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a disk as the ramdisk describes it; {} for an empty bay and for virtual media.

    A disk of an unknown kind has no ``rotational``.
    """
    size = number(document, 'CapacityBytes') or number(document, 'CapacityMiB') * 2**20
    disk = _filled(
        model=text(document, 'Model'),
        serial=text(document, 'SerialNumber'),
        size=size,
        media=text(document, 'MediaType'),
    )
    if not disk or _VIRTUAL.match(disk.get('model', '')):
        return {}
    protocol = 'NVMe' if _is_nvme(document) else text(document, 'Protocol', 'InterfaceType')
    disk |= _filled(
        name=text(document, 'Id', 'Name'),
        vendor=text(document, 'Manufacturer'),
        protocol=protocol,
    )
    media, turns = disk.pop('media', '').upper(), number(document, 'RotationSpeedRPM', 'RotationalSpeedRpm')
    if media == 'SSD' or (protocol == 'NVMe' and not turns):
        disk['rotational'] = False
    elif media in ('HDD', 'SMR') or turns:
        disk['rotational'] = True
    return disk


def _is_nvme(document: Mapping[str, Any]) -> bool:
    """Whether a disk is an NVMe device. Dell's BMCs have the protocol PCIe, AMI's have none, and names with NVMe."""
    protocol = text(document, 'Protocol', 'InterfaceType').lower()
    names = text(document, 'Model') + text(document, 'Name')
    return protocol.startswith('nvme') or (protocol in ('', 'pcie') and 'nvme' in names.lower())


def nics(machine: Machine) -> Found:
    """Return the network interfaces with MAC addresses: the Ethernet interfaces, else those of the adapters."""
    found: dict[str, dict[str, Any]] = {}
    for source in (_ethernet_interfaces, _adapter_functions):
        for document in source(machine):
            mac = text(document, 'PermanentMACAddress', 'MACAddress').replace('-', ':').lower()
            if netutils.is_valid_mac(mac) and mac.strip('0:') and is_there(document):
                found.setdefault(mac, _nic(document, mac))
        if found:
            break
    return Found({'interfaces': list(found.values())})


def _ethernet_interfaces(machine: Machine) -> Iterator[Mapping[str, Any]]:
    """Yield the Ethernet interfaces, without VLANs and what only leads to the BMC."""
    for _, document in machine.reader.members(machine.system, 'EthernetInterfaces'):
        links = inner(document, 'Links')
        if not links.keys() & {'HostInterface', 'RelatedInterfaces'}:
            yield document


def _adapter_functions(machine: Machine) -> Iterator[Mapping[str, Any]]:
    for _, interface in machine.reader.members(machine.system, 'NetworkInterfaces'):
        for _, function in machine.reader.members(interface, 'NetworkDeviceFunctions'):
            if text(function, 'NetDevFuncType') in ('', 'Ethernet'):
                yield {**inner(function, 'Ethernet'), 'Id': function.get('Id')}


def _nic(document: Mapping[str, Any], mac: str) -> dict[str, Any]:
    nic = _filled(name=text(document, 'Id', 'Name') or mac, mac_address=mac, speed_mbps=number(document, 'SpeedMbps'))
    states = {'LinkUp': True, 'LinkDown': False, 'NoLink': False}
    state = text(document, 'LinkStatus')
    return nic | ({'has_carrier': states[state]} if state in states else {})


def adapters(machine: Machine) -> Found:
    """Return the network adapters, from the first source that has any."""
    for source in (_chassis_adapters, _interface_adapters, _hpe_adapters, _named_adapters, _network_functions):
        listed = {path: each for path, each in source(machine) if is_there(each)}
        if found := [adapter for each in listed.values() if (adapter := _adapter(each))]:
            return Found(redfish={'adapters': found})
    return Found(redfish={'adapters': []})


def _chassis_adapters(machine: Machine) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for system in machine.systems:
        for _, chassis in machine.reader.members(inner(system, 'Links'), 'Chassis'):
            yield from machine.reader.members(chassis, 'NetworkAdapters')


def _interface_adapters(machine: Machine) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for _, interface in machine.reader.members(machine.system, 'NetworkInterfaces'):
        yield from machine.reader.each([inner(interface, 'Links', 'NetworkAdapter')])


def _hpe_adapters(machine: Machine) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from machine.reader.members(machine.system, 'NetworkAdapters')


def _named_adapters(machine: Machine) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the adapters of the chassis that name the System or have its name. Systems of Cray and NVIDIA name none."""
    for _, chassis in machine.reader.members({'Chassis': {'@odata.id': f'{ROOT}/Chassis'}}, 'Chassis'):
        systems = {text(each, '@odata.id') for each in objects(inner(chassis, 'Links').get('ComputerSystems'))}
        if machine.path in systems or text(chassis, 'Id') == machine.path.rpartition('/')[2]:
            yield from machine.reader.members(chassis, 'NetworkAdapters')


def _network_functions(machine: Machine) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the PCI functions of adapters. Gigabyte's BMCs show their names without the numbers of the devices."""
    for function in (*_functions(machine, machine.system), *_devices(machine, machine.system)):
        if text(function, 'DeviceClass') == 'NetworkController' or text(function, 'ClassCode').startswith('0x02'):
            yield text(function, '@odata.id', 'Name'), function


def _adapter(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an adapter, with all texts in which BMCs have its model."""
    offload = ('ControllerCapabilities', 'VirtualizationOffload', 'VirtualFunction')
    functions = (number(inner(each, *offload), 'DeviceMaxCount') for each in objects(document.get('Controllers')))
    return _filled(
        name=text(document, 'Name', 'Id'),
        vendor=text(document, 'Manufacturer'),
        model=text(document, 'Model'),
        part_number=text(document, 'PartNumber'),
        description=text(document, 'Description'),
        virtual_functions=max(functions, default=0),
    )


def pci(machine: Machine) -> Found:
    """Return the PCI devices, as the collector pci-devices of the ramdisk finds them.

    Of the trays only those that the System does not show itself.
    """
    devices = _pci_devices(machine, machine.system)
    seen = {(each['vendor_id'], each['product_id']) for each in devices}
    for tray in machine.trays:
        devices += [each for each in _pci_devices(machine, tray) if (each['vendor_id'], each['product_id']) not in seen]
    return Found(plugin_data={'pci_devices': devices})


def _pci_devices(machine: Machine, system: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the devices of a System, from the first source that has any."""
    for source in (_functions, _devices, _hpe_devices, _chassis_devices, _accelerator_functions):
        devices = [device for each in source(machine, system) if (device := _pci_device(each))]
        if devices:
            return devices
    return []


def _functions(machine: Machine, system: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (each for _, each in machine.reader.members(system, 'PCIeFunctions'))


def _accelerator_functions(machine: Machine, system: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the functions of GPUs that are only listed as processors. They often have no class."""
    for _, processor in machine.reader.members(system, 'Processors'):
        if text(processor, 'ProcessorType') == 'GPU':
            functions = machine.reader.members(inner(processor, 'Links'), 'PCIeFunctions')
            yield from ({'DeviceClass': 'DisplayController', **each} for _, each in functions)


def _devices(machine: Machine, system: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for _, device in machine.reader.members(system, 'PCIeDevices'):
        yield from _of_device(machine, device)


def _of_device(machine: Machine, device: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    holders = (device, inner(device, 'Links'))
    yield from (each for holder in holders for _, each in machine.reader.members(holder, 'PCIeFunctions'))


def _hpe_devices(machine: Machine, system: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the devices of iLO 5, whose numbers are integers."""
    for _, each in machine.reader.members(system, 'PCIDevices'):
        yield {
            'VendorId': f'0x{number(each, "VendorID"):04x}',
            'DeviceId': f'0x{number(each, "DeviceID"):04x}',
            'ClassCode': f'0x{number(each, "ClassCode"):02x}{number(each, "SubclassCode"):02x}00',
            'Name': each.get('Name'),
        }


def _chassis_devices(machine: Machine, system: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for _, chassis in machine.reader.members(inner(system, 'Links'), 'Chassis'):
        for _, device in machine.reader.members(chassis, 'PCIeDevices'):
            yield from _of_device(machine, device)


def _pci_device(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a device with its numbers; {} if the BMC does not know them."""
    vendor, product = (_pci_number(text(function, key)) for key in ('VendorId', 'DeviceId'))
    if vendor in ('', '0000', 'ffff') or product in ('', '0000', 'ffff') or not is_there(function):
        return {}
    # Dell's codes have the class at the end, iLO's are decimal: names are safer.
    name, code = text(function, 'DeviceClass'), text(function, 'ClassCode').lower().removeprefix('0x')
    return {'vendor_id': vendor, 'product_id': product, 'class': name if name not in ('', 'Other') else code}


def _pci_number(value: str) -> str:
    """Return a number as four hexadecimal digits. iLO 5 has decimal numbers, without 0x."""
    try:
        number = int(value, 16 if value.lower().startswith('0x') or not value.isdecimal() else 10)
    except ValueError:
        return ''
    return f'{number:04x}' if 0 <= number <= 0xFFFF else ''


def firmware_versions(machine: Machine) -> Found:
    """Return the firmware that is installed. Dell's BMCs also list what was, and what could be."""
    service = machine.reader.get(f'{ROOT}/UpdateService')
    listed = itertools.islice(machine.reader.members(service, 'FirmwareInventory'), 500)
    installed = [each for _, each in listed if not text(each, 'Id').startswith(('Previous-', 'Available-'))]
    versions = [_filled(name=text(each, 'Name', 'Id'), version=text(each, 'Version')) for each in installed]
    return Found(redfish={'firmware': [each for each in versions if 'version' in each]})


def _filled(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}
