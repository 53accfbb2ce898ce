"""[metrics]: what is counted."""

from oslo_config import cfg

GROUP = 'metrics'

OPTIONS = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help='Whether /metrics answers, to everyone, in the format of Prometheus: requests by route and status, how '
        'long they took, connections to the database, reservations, nodes by state, workers that are alive, and how '
        'long work waits for one. Where several processes serve '
        'one address behind another WSGI server than that of ironic-traits-api, the environment variable '
        'PROMETHEUS_MULTIPROC_DIR must name a folder that is empty when they start: they add up there.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
