"""Options of [matching]: which nodes can be held."""

from oslo_config import cfg

GROUP = 'matching'

OPTIONS = [
    cfg.BoolOpt(
        'exclude_unhealthy',
        default=False,
        help='Whether nodes that are not healthy are kept back: they cannot be reserved or allocated, they match no '
        'request, and their unit in Placement is reserved. Nodes whose health is null count as healthy. Who holds such '
        'a node keeps it. Set it to the same value for all processes.',
    ),
    cfg.StrOpt(
        'unhealthy_from',
        default='Warning',
        choices=[
            ('Warning', 'nodes are healthy if their health is OK'),
            ('Critical', 'nodes are healthy if their health is OK or Warning'),
        ],
        help='From which health on exclude_unhealthy keeps nodes back.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
