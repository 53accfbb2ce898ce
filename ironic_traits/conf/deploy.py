"""[deploy]: which drivers nodes may have, and how workers carry their transitions."""

from oslo_config import cfg

GROUP = 'deploy'

OPTIONS = [
    cfg.ListOpt(
        'enabled_hardware_types',
        default=['fake-hardware'],
        help='Drivers that nodes may name: entry points of ironic_traits.deploy.drivers.',
    ),
    cfg.BoolOpt(
        'automated_clean',
        default=True,
        help="Whether a node is cleaned before it becomes available. A node's own automated_clean goes before it.",
    ),
    cfg.FloatOpt(
        'poll_interval',
        min=0.01,
        default=0.2,
        help='Seconds between two looks of an idle worker for something to do.',
    ),
    cfg.IntOpt(
        'lease_seconds',
        min=1,
        default=60,
        help='Seconds that a worker has for one step of a transition. After that it is taken for dead, and another '
        'one takes over.',
    ),
    cfg.IntOpt(
        'max_attempts',
        min=1,
        default=3,
        help='How often a step is begun when no worker comes to an end with it; after that the transition has failed.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
