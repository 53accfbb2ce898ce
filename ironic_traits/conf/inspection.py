"""Options of [inspection]: the data of inspections, and the rules that run on it."""

import pathlib

from oslo_config import cfg, types

from ironic_traits.conf.option_types import Accelerators, PciAlias, SubnetNetwork

GROUP = 'inspection'

OPTIONS = [
    cfg.BoolOpt(
        'standard_rules',
        default=True,
        help='Whether the rules that ship with this package run. They give inspected nodes the traits of their CPU, '
        'their architecture, their disks and their network interfaces.',
    ),
    cfg.MultiStrOpt(
        'rules_dirs',
        default=[],
        help='Directories with further rules, in files whose names end in .yaml or .json. The service and its '
        'workers read them when they start, and do not start if one is invalid. The option can be repeated.',
    ),
    cfg.IntOpt(
        'max_data_size',
        min=1,
        default=8 * 1024 * 1024,
        help='Maximum size of the data of an inspection in PUT /v1/nodes/{node}/inventory, in bytes. Larger data is '
        'refused with 413. [api] max_request_body_size does not limit this request.',
    ),
    cfg.IntOpt(
        'max_ramdisk_data_size',
        min=1,
        default=1024 * 1024,
        help='Maximum size of the data that a ramdisk sends to /v1/continue_inspection, in bytes. Larger data is '
        'refused with 413. Ramdisks cannot authenticate, so anyone who reaches the service can send this much. Raise '
        'it if your ramdisks send more, for example because they include their logs.',
    ),
    cfg.IntOpt(
        'max_ports',
        min=0,
        default=128,
        help='Maximum number of ports to which an inspection adds further ones. The history of the node says how many '
        'network interfaces got no port.',
    ),
    cfg.ListOpt(
        'hooks',
        item_type=types.String(
            choices=[
                ('ramdisk-error', 'the inspection fails if the ramdisk reports an error'),
                ('validate-interfaces', 'the inspection fails without network interfaces that can get ports'),
                ('ports', 'adds, updates and removes ports: see add_ports and keep_ports'),
                ('architecture', 'sets cpu_arch; the inspection fails without it'),
                ('cpus', 'sets cpus'),
                ('memory', 'sets memory_mb'),
                ('root-device', 'sets local_gb; the inspection fails if no disk is as properties.root_device says'),
                ('boot-mode', 'sets the capability boot_mode'),
                ('cpu-capabilities', 'sets the capabilities of cpu_capabilities'),
                ('parse-lldp', 'adds what switches announce by LLDP to the plugin data, as parsed_lldp'),
                ('local-link-connection', 'sets what local_link_connection of ports lacks, from LLDP'),
                ('physical-network', 'sets physical_network of ports by physical_network_cidr_map'),
                ('pci-devices', 'sets the capabilities of pci_device_alias to the number of devices'),
                ('accelerators', 'sets the property accelerators by known_accelerators'),
                ('extra-hardware', 'makes objects of the rows of the collector extra-hardware, as extra'),
                ('raid-device', 'sets properties.root_device to the disk that is new since the last inspection'),
            ]
        ),
        default='$default_hooks',
        help='Hooks that run, in this order, when a ramdisk has sent the data of an inspection. They check the data, '
        'and set the ports and the properties of the node. Its traits are set by inspection rules. $default_hooks '
        'stands for the hooks of default_hooks. The others are boot-mode, cpu-capabilities, local-link-connection, '
        'physical-network, pci-devices, accelerators, extra-hardware and raid-device.',
    ),
    cfg.StrOpt(
        'default_hooks',
        default='ramdisk-error,validate-interfaces,ports,architecture,cpus,memory,root-device,parse-lldp',
        help='The hooks that run by default. Ironic runs the first four by default.',
    ),
    cfg.ListOpt(
        'physical_network_cidr_map',
        item_type=SubnetNetwork(),
        default=[],
        sample_default='10.10.10.0/24:physnet_a,2001:db8::/64:physnet_b',
        help='The physical network of each subnet, for the hook physical-network. The first subnet that has the IPv4 '
        'address of a network interface counts, or else the first that has its IPv6 address.',
    ),
    cfg.MultiOpt(
        'pci_device_alias',
        item_type=PciAlias(),
        sample_default='{"vendor_id": "10de", "product_id": "1eb8", "name": "pci_t4"}',
        help='A kind of PCI device, and the capability that the hook pci-devices sets to the number of such devices. '
        'The option can be repeated.',
    ),
    cfg.Opt(
        'known_accelerators',
        type=Accelerators(),
        default=str(pathlib.Path(__file__).parents[1] / 'matching/accelerators.yaml'),
        sample_default='accelerators.yaml of this package',
        help='A YAML file with the PCI devices that the hook accelerators knows: a list pci_devices of objects with '
        'vendor_id, device_id, type and device_info.',
    ),
    cfg.BoolOpt(
        'extra_hardware_strict',
        default=False,
        help='Whether the hook extra-hardware deletes data in which a row does not have four values.',
    ),
    cfg.StrOpt(
        'add_ports',
        default='pxe',
        choices=[
            ('all', 'all network interfaces'),
            ('active', 'network interfaces with IP addresses'),
            ('pxe', 'the network interface that the node has booted from; all of them if that is not known'),
            ('disabled', 'none'),
        ],
        help='For which network interfaces an inspection adds ports.',
    ),
    cfg.StrOpt(
        'keep_ports',
        default='all',
        choices=[
            ('all', 'all ports of the node'),
            ('present', 'the ports of network interfaces that the inspection has found'),
            ('added', 'the ports that add_ports adds'),
        ],
        help='Which ports a node keeps after an inspection. The others are deleted.',
    ),
    cfg.BoolOpt(
        'update_pxe_enabled',
        default=True,
        help='Whether an inspection sets pxe_enabled of the ports of a node: to true for the network interface that '
        'the node has booted from, to false for the others. If that is not known, the values stay.',
    ),
    cfg.IntOpt(
        'refresh_interval',
        min=0,
        default=0,
        help='Seconds between two readings of the BMC of each node whose inspect interface reads a BMC, such as '
        'redfish. They change facts, traits and mismatches only, in any state of the node but enroll. With 0, a BMC is '
        'read only by request.',
    ),
    cfg.IntOpt(
        'refresh_threads',
        min=1,
        default=50,
        help='Number of BMCs that a worker reads at a time for it.',
    ),
    cfg.BoolOpt(
        'disk_partitioning_spacing',
        default=True,
        help='Whether local_gb is 1 GiB less than the size of the root disk, to leave space for partitioning.',
    ),
    cfg.DictOpt(
        'cpu_capabilities',
        default={
            'vmx': 'cpu_vt',
            'svm': 'cpu_vt',
            'aes': 'cpu_aes',
            'pse': 'cpu_hugepages',
            'pdpe1gb': 'cpu_hugepages_1g',
            'smx': 'cpu_txt',
        },
        help='The capability that the hook cpu-capabilities sets to true for each flag of the CPU.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
