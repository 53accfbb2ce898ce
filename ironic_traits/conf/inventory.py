"""[inventory]: limits on what a node carries."""

from oslo_config import cfg

GROUP = 'inventory'

#: Never more than this on one node, whatever is configured: the limit of the node-traits specification.
MAX_TRAITS = 50

OPTIONS = [
    cfg.IntOpt(
        'max_traits_per_node',
        min=0,
        max=MAX_TRAITS,
        default=MAX_TRAITS,
        help=f'Most traits on one node. {MAX_TRAITS} at most: this can only lower it.',
    ),
    cfg.BoolOpt(
        'allow_deleting_available_nodes',
        default=True,
        help='Whether a node in the state "available" can be deleted.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
