"""Options of [reservations]: lifetimes and limits."""

from oslo_config import cfg

GROUP = 'reservations'

OPTIONS = [
    cfg.IntOpt(
        'default_lifetime',
        min=1,
        help='Seconds that a reservation lasts when the request does not say how long. Without it, max_lifetime '
        'applies. Without both, the reservation lasts until it is used or deleted.',
    ),
    cfg.IntOpt(
        'max_lifetime',
        min=1,
        help='Maximum lifetime of a reservation, in seconds from the request that creates or renews it. By default '
        'there is no maximum.',
    ),
    cfg.IntOpt(
        'max_nodes',
        min=1,
        default=1000,
        help='Maximum number of nodes, or of instances, in one request for reservations.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
