"""Options of [history]: how long the history of nodes is kept."""

from oslo_config import cfg

GROUP = 'history'

OPTIONS = [
    cfg.IntOpt(
        'max_entries',
        min=0,
        default=300,
        help='Number of entries of a node that a purge keeps, the newest ones. 0 means no limit. It does not apply to '
        'deleted nodes, whose entries are purged by age only.',
    ),
    cfg.IntOpt(
        'max_days',
        min=0,
        default=0,
        help='Number of days after which a purge deletes an entry, also one of a deleted node. 0 means no limit.',
    ),
    cfg.IntOpt(
        'purge_interval',
        min=0,
        default=86400,
        help='Seconds between two purges by a worker. The first one is a minute after its start. With 0, workers do '
        'not purge; then run "ironic-traits-manage history purge" regularly.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
