"""fake-hardware: a driver without hardware."""


class FakeHardware:
    """Takes everything and touches nothing.

    :cvar interfaces: for each interface the implementations that a node may name, the default first.
    :cvar properties: the driver_info keys that it understands, each with a description.
    """

    interfaces = {
        'boot': ('fake',),
        'console': ('fake', 'no-console'),
        'deploy': ('fake',),
        'inspect': ('fake', 'no-inspect'),
        'management': ('fake',),
        'network': ('noop',),
        'power': ('fake',),
        'raid': ('fake', 'no-raid'),
        'storage': ('noop', 'fake'),
        'vendor': ('fake', 'no-vendor'),
    }
    properties: dict[str, str] = {}
