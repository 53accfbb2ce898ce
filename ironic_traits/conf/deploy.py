"""Options of [deploy]: the drivers of nodes, and the workers that run their transitions."""

from oslo_config import cfg

GROUP = 'deploy'

OPTIONS = [
    cfg.ListOpt(
        'enabled_hardware_types',
        default=['fake-hardware'],
        help='Drivers that nodes may use, by the names of their entry points in ironic_traits.deploy.drivers. A worker '
        'works on the nodes of its own drivers only.',
    ),
    cfg.ListOpt(
        'simulated_hardware_types',
        default=[],
        help='Hardware types of Ironic (idrac, intel-ipmi, ipmi, manual-management, redfish) that are simulated: nodes '
        "may have them as drivers, with Ironic's names of interfaces, and everything is done as by fake-hardware. This "
        'is for tests of clients that write these names. No hardware is ever reached.',
    ),
    cfg.StrOpt(
        'conductor_group',
        default='',
        regex=r'^[a-zA-Z0-9_\-.]{0,255}$',
        help='The workers of this configuration work on the nodes of this conductor group, and on no others. By '
        'default these are the nodes without a conductor group. Case does not matter.',
    ),
    cfg.BoolOpt(
        'automated_clean',
        default=True,
        help="Whether a node is cleaned before it becomes available. The node's field automated_clean overrides it.",
    ),
    cfg.StrOpt(
        'reclaim_trait',
        regex=r'^(CUSTOM_[A-Z0-9_]{1,248})?$',
        help='An exclusive trait (/v1/traits) that a node gets from the source "reclaim:" when its instance goes, and '
        'loses when a clean with a step of its driver has succeeded (automated, by hand, or with a runbook; steps that '
        'switch the power or wait do not count). Until then, the node only matches requests that ask for the trait. '
        'By default there is none. Mirrored nodes never get it.',
    ),
    cfg.URIOpt(
        'http_url',
        schemes=['http', 'https'],
        help='URL of this API for BMCs, which fetch config drives from it. [api] public_endpoint is the default. '
        'Without both, the config drive of an instance that boots an ISO image must be a URL.',
    ),
    cfg.FloatOpt(
        'poll_interval',
        min=0.01,
        default=0.2,
        help='Seconds between two checks for work by an idle worker. A worker checks sooner right after it did some '
        'work, and a request wakes the worker that ironic-traits-api started on the same machine.',
    ),
    cfg.IntOpt(
        'node_locked_retry_attempts',
        min=0,
        default=3,
        help='Number of intervals (node_locked_retry_interval) that a request waits for a node that is locked by other '
        'work. After that the request is refused with 409. With 0 it is refused immediately. At most a quarter of the '
        'threads of a process ([api] threads) wait at a time. Further requests for locked nodes are refused '
        'immediately.',
    ),
    cfg.FloatOpt(
        'node_locked_retry_interval',
        min=0,
        default=1,
        help='Seconds of one interval of node_locked_retry_attempts. This only sets how long a request waits: the '
        'service checks more often whether the node is still locked.',
    ),
    cfg.IntOpt(
        'threads',
        min=1,
        default=100,
        help='Number of transitions that a worker performs at a time. Each has a thread of its own, which waits while '
        'the driver waits for the machine.',
    ),
    cfg.IntOpt(
        'lease_seconds',
        min=1,
        default=60,
        help='Seconds that a driver may take for one step of a transition. If it takes longer, the worker ends the '
        'transition as failed. If the worker is dead, another worker repeats the step after this time. Raise it if a '
        'step of your driver takes longer.',
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
        help='Seconds without a heartbeat after which a worker is no longer counted as alive. It must be longer than '
        'heartbeat_interval.',
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
        help='How many times a step is started when the workers that run it do not finish it. After that the '
        'transition fails.',
    ),
    cfg.IntOpt(
        'deploy_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a whole deploy or rebuild may take before it fails. 0 means no limit. The same limit '
        'applies to verifying, adopting and undeploying a node.',
    ),
    cfg.IntOpt(
        'clean_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a whole cleaning may take before it fails. 0 means no limit.',
    ),
    cfg.IntOpt(
        'inspect_wait_timeout',
        min=0,
        default=1800,
        help='Seconds that a whole inspection may take before it fails. 0 means no limit.',
    ),
    cfg.IntOpt(
        'rescue_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a whole rescue or unrescue may take before it fails. 0 means no limit.',
    ),
    cfg.IntOpt(
        'service_callback_timeout',
        min=0,
        default=1800,
        help='Seconds that a whole service may take before it fails. 0 means no limit. When a held node is released, '
        'this limit begins again, as do those of deploy and clean.',
    ),
    cfg.IntOpt(
        'power_state_change_timeout',
        min=0,
        default=60,
        help='Seconds that a change of the power state may take before it fails. 0 means no limit. The timeout in a '
        'request overrides it.',
    ),
    cfg.IntOpt(
        'soft_power_off_timeout',
        min=0,
        default=600,
        help='Seconds that a soft power off or a soft reboot may take before it fails. 0 means no limit. The timeout '
        'in a request overrides it.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
