"""Options of [database] besides those of oslo.db: how long the service waits for its database."""

from oslo_config import cfg

GROUP = 'database'

OPTIONS = [
    cfg.FloatOpt(
        'connect_timeout',
        min=0.1,
        default=2,
        help='Seconds to wait until a host of the database accepts a connection. After that the next host of '
        '[database] connection is tried. A host that requests wait for is checked with a new connection: if that takes '
        'longer than this time, the host is considered dead. The driver psycopg takes whole seconds only, and at '
        'least 2.',
    ),
    cfg.IntOpt(
        'lock_timeout',
        min=1,
        default=30,
        help='Seconds that a transaction waits for a lock of another one. After that the response is 503.',
    ),
    cfg.IntOpt(
        'statement_timeout',
        min=1,
        default=40,
        help='Seconds that a statement may take. After that the database ends it (PostgreSQL and MariaDB), and the '
        'response is 503. A transaction in which no statement was sent for this time is rolled back, too. The limit '
        'does not apply to migrations. Set it to more than lock_timeout.',
    ),
    cfg.IntOpt(
        'request_timeout',
        min=1,
        default=120,
        help='Seconds that a request may wait for the database, with all its statements and retries. After that the '
        'response is 503. The limit applies to PostgreSQL, MariaDB and MySQL.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
