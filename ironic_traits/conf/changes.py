"""Options of [changes]: the change feed."""

from oslo_config import cfg

GROUP = 'changes'

OPTIONS = [
    cfg.IntOpt(
        'keep_days',
        min=1,
        default=7,
        help='Number of days for which the change feed names deleted objects. A client that has not asked for longer '
        'gets a 410, and must read everything again.',
    ),
    cfg.IntOpt(
        'interval',
        min=1,
        default=10,
        help='Seconds after which a worker numbers the changes for which no client has asked, so that the log of '
        'changes stays short.',
    ),
]


def register(conf):
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
