"""Simulated hardware under the names of Ironic's hardware types, for clients that write these names.

The interfaces are those of Ironic 39. The first of each is the one that Ironic uses by default.
"""

from oslo_config import cfg

from ironic_traits.deploy.fake_hardware import FakeHardware

_COMMON = {
    'bios': ('no-bios',),
    'boot': ('ipxe', 'pxe', 'http-ipxe', 'http'),
    'console': ('no-console', 'fake-graphical'),
    'deploy': ('autodetect', 'direct', 'ansible', 'ramdisk', 'anaconda', 'bootc', 'custom-agent'),
    'firmware': ('no-firmware',),
    'inspect': ('no-inspect', 'agent'),
    'network': ('flat', 'neutron', 'ironic-networking', 'noop'),
    'raid': ('no-raid', 'agent'),
    'rescue': ('no-rescue', 'agent'),
    'storage': ('noop', 'cinder', 'external'),
    'vendor': ('no-vendor',),
}
_IPMI = _COMMON | {
    'console': ('no-console', 'fake-graphical', 'ipmitool-socat'),
    'management': ('ipmitool', 'noop'),
    'power': ('ipmitool',),
    'vendor': ('ipmitool', 'no-vendor'),
}
_REDFISH = _COMMON | {
    'bios': ('redfish', 'no-bios'),
    'boot': (*_COMMON['boot'], 'redfish-virtual-media', 'redfish-https'),
    'console': ('no-console', 'fake-graphical', 'ipmitool-socat', 'redfish-graphical'),
    'firmware': ('no-firmware', 'redfish'),
    'inspect': ('redfish', 'agent', 'no-inspect'),
    'management': ('redfish', 'noop'),
    'power': ('redfish',),
    'raid': ('redfish', 'no-raid', 'agent'),
    'vendor': ('redfish', 'no-vendor'),
}
#: {hardware type: {interface: its implementations}}.
INTERFACES = {
    'ipmi': _IPMI,
    'intel-ipmi': _IPMI | {'management': ('intel-ipmitool',)},
    'redfish': _REDFISH,
    'idrac': _REDFISH
    | {
        'bios': ('redfish', 'idrac-redfish', 'no-bios'),
        'boot': (*_COMMON['boot'], 'idrac-redfish-virtual-media', 'redfish-https'),
        'inspect': ('no-inspect', 'agent', 'idrac-redfish'),
        'management': ('idrac-redfish',),
        'power': ('idrac-redfish', 'redfish'),
        'raid': ('no-raid', 'agent', 'idrac-redfish'),
        'vendor': ('redfish', 'idrac-redfish', 'no-vendor'),
    },
    'manual-management': _COMMON
    | {
        'deploy': (*_COMMON['deploy'], 'noop'),
        'management': ('noop', 'fake'),
        'power': ('agent', 'fake'),
    },
}


class SimulatedHardware(FakeHardware):
    """A driver with the interfaces of one of Ironic's hardware types, which does what ``fake-hardware`` does.

    :param name: of the hardware type.
    """

    def __init__(self, conf: cfg.ConfigOpts, name: str) -> None:
        super().__init__(conf)
        self.interfaces = INTERFACES[name]
