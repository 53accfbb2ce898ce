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
        help='Seconds between two looks of an idle worker for something to do. Right after work it looks sooner, and a '
        'request wakes the worker that ironic-traits-api started on the same machine.',
    ),
    cfg.IntOpt(
        'node_locked_retry_attempts',
        min=0,
        default=3,
        help='A request for a node on which other work goes on waits for node_locked_retry_attempts times '
        'node_locked_retry_interval seconds before it is refused with 409; 0 to refuse it at once. At most a quarter '
        'of [api] threads wait at a time in each process; further requests for such nodes are refused at once.',
    ),
    cfg.FloatOpt(
        'node_locked_retry_interval',
        min=0,
        default=1,
        help='See node_locked_retry_attempts. The node is looked at more often than that.',
    ),
    cfg.IntOpt(
        'lease_seconds',
        min=1,
        default=60,
        help='Seconds that a worker has for one step of a transition. After that it is taken for dead, and another '
        'one takes over.',
    ),
    cfg.IntOpt(
        'heartbeat_interval',
        min=1,
        default=10,
        help='Seconds between two heartbeats of a worker.',
    ),
    cfg.IntOpt(
        'heartbeat_timeout',
        min=2,
        default=60,
        help='Seconds without a heartbeat after which a worker is not counted as alive any more.',
    ),
    cfg.IntOpt(
        'waiting_warning',
        min=1,
        default=30,
        help='Seconds that a node may wait for a worker before the API logs a warning.',
    ),
    cfg.IntOpt(
        'max_attempts',
        min=1,
        default=3,
        help='How often a step is begun when no worker comes to an end with it; after that the transition has failed.',
    ),
    cfg.IntOpt(
        'deploy_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a deploy or a rebuild may take altogether; after that it has failed. 0 for no limit. It is '
        'also the limit of verifying, adopting and undeploying a node.',
    ),
    cfg.IntOpt(
        'clean_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a cleaning may take altogether; 0 for no limit.',
    ),
    cfg.IntOpt(
        'inspect_wait_timeout',
        min=0,
        default=1800,
        help='Seconds that an inspection may take altogether; 0 for no limit.',
    ),
    cfg.IntOpt(
        'rescue_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a rescue, or the way back from it, may take altogether; 0 for no limit.',
    ),
    cfg.IntOpt(
        'power_state_change_timeout',
        min=0,
        default=60,
        help='Seconds that a change of the power state may take altogether, unless its request says how many; 0 for no '
        'limit.',
    ),
    cfg.IntOpt(
        'soft_power_off_timeout',
        min=0,
        default=600,
        help='The same for soft power off and soft rebooting.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
