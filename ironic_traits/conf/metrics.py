"""Options of [metrics]: the Prometheus endpoint."""

from oslo_config import cfg

GROUP = 'metrics'

OPTIONS = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help='Whether to serve metrics at /metrics, without authentication, in the format of Prometheus: requests by '
        'route and status, their latencies, database connections, reservations, nodes by state, live workers, and how '
        'long work has waited for a worker. If several processes serve one address behind a WSGI server other than the '
        'one of ironic-traits-api, set the environment variable PROMETHEUS_MULTIPROC_DIR to a directory that is empty '
        'when they start. The processes combine their metrics there.',
    ),
    cfg.StrOpt(
        'flavors_file',
        help='File with flavors, YAML or JSON: {name: {extra spec: value}}, 100 at most. /metrics then has the numbers '
        'of nodes that match each of them: how many are free, held, and not available. With {name: {extra_specs: …, '
        'topology: …, count: 18}}, it also has the number of blocks of 18 free nodes that fulfil the topology, and the '
        'size of the largest block. The file is read at the start. '
        'Each process keeps an index of all nodes in memory for that, about 20 MiB with 100,000 nodes.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
