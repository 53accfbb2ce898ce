"""[deploy]: which drivers nodes may have."""

from oslo_config import cfg

GROUP = 'deploy'

OPTIONS = [
    cfg.ListOpt(
        'enabled_hardware_types',
        default=['fake-hardware'],
        help='Drivers that nodes may name: entry points of ironic_traits.deploy.drivers.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
