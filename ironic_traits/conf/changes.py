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
    cfg.IntOpt(
        'max_streams',
        min=0,
        default=100,
        help='Most streams of changes (GET /v1/changes with "Accept: text/event-stream") that each process of '
        'ironic-traits-api serves at a time. Further ones get a 503. Behind another WSGI server, each stream keeps a '
        'thread of requests busy, and at most a quarter of [api] threads are used for streams.',
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


def register(conf):
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
