"""Options of [redfish]: how BMCs are asked."""

from oslo_config import cfg

GROUP = 'redfish'

OPTIONS = [
    cfg.FloatOpt('timeout', min=0.1, default=20, help='Seconds that a BMC may take for one answer.'),
    cfg.FloatOpt(
        'system_timeout',
        min=1,
        default=50,
        help='Seconds that all answers of a BMC may take in one inspection. What was not read until then is unknown. '
        '[deploy] lease_seconds must be more than 5 seconds longer than this.',
    ),
    cfg.BoolOpt(
        'allow_local_addresses',
        default=False,
        help='Whether BMCs may have loopback and link-local addresses. A user who may write driver_info of a node '
        'makes the service connect to its address, also to services of this machine and to the metadata of a cloud. '
        'Set it for emulated BMCs only.',
    ),
    cfg.FloatOpt(
        'power_sync_interval',
        min=0,
        default=60,
        help='Seconds between two readings of the power state and the health of each node by its BMC. With 0, they are '
        'not read.',
    ),
    cfg.IntOpt('power_sync_threads', min=1, default=16, help='Number of BMCs that a worker asks for it at a time.'),
    cfg.IntOpt(
        'power_sync_max_failures',
        min=1,
        default=3,
        help='Number of readings in a row that fail before the power state becomes "error". The node is put into '
        'maintenance then, until its BMC answers again.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
