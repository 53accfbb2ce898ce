"""[reservations]: how long, and from how many nodes."""

from oslo_config import cfg

GROUP = 'reservations'

OPTIONS = [
    cfg.IntOpt(
        'default_lifetime',
        min=1,
        help='Seconds that a reservation lasts for which its client says nothing. Without it, and without '
        'max_lifetime, it lasts until it is used or deleted.',
    ),
    cfg.IntOpt('max_lifetime', min=1, help='Most seconds, from now on, that a client may ask for.'),
    cfg.IntOpt('max_nodes', min=1, default=1000, help='Most nodes in the list of one request.'),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
