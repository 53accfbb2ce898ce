"""Options of [changes]: the change feed."""

from oslo_config import cfg

GROUP = 'changes'

OPTIONS = [
    cfg.IntOpt(
        'keep_days',
        min=1,
        default=7,
        help='Number of days for which the change feed lists deleted objects. A client whose token is older may get a '
        '410 response. It must then read everything again.',
    ),
    cfg.IntOpt(
        'interval',
        min=1,
        default=10,
        help='Seconds after which a worker moves new changes from the log of changes to the change feed. A request for '
        'changes does that, too. The option keeps the log short while no client asks for changes.',
    ),
    cfg.IntOpt(
        'max_streams',
        min=0,
        default=100,
        help='Maximum number of streams of changes (GET /v1/changes with "Accept: text/event-stream") that each '
        'process of ironic-traits-api serves at a time. The response to a further one is 503. Behind another WSGI '
        'server, each stream keeps a thread of requests busy, and at most a quarter of [api] threads are used for '
        'streams.',
    ),
    cfg.IntOpt(
        'stream_seconds',
        min=1,
        default=3600,
        help='Seconds after which a stream of changes ends. The client connects again, and is authenticated again. A '
        'stream also ends when the token of its client expires.',
    ),
    cfg.IntOpt(
        'stream_heartbeat',
        min=1,
        default=15,
        help='Seconds after which something is sent on a stream of changes, even if nothing has changed, so that '
        'proxies keep the connection open, and connections of clients that are gone are noticed.',
    ),
    cfg.FloatOpt(
        'stream_interval',
        min=0.05,
        default=1,
        help='Seconds after which a process with streams looks for changes again.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
