"""Options of [inventory]: limits of nodes."""

from oslo_config import cfg

GROUP = 'inventory'

#: The limit of the node-traits specification. Configuration can only lower it.
MAX_TRAITS = 50

OPTIONS = [
    cfg.IntOpt(
        'max_traits_per_node',
        min=0,
        max=MAX_TRAITS,
        default=MAX_TRAITS,
        help=f'Maximum number of traits of a node. It can be lowered, but not raised above {MAX_TRAITS}.',
    ),
    cfg.BoolOpt(
        'allow_deleting_available_nodes',
        default=True,
        help='Whether a node in the provision state "available" can be deleted. If disabled, move the node to '
        '"manageable" first.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
