"""Options of [database] besides those of oslo.db: how long the service waits for its database."""

from oslo_config import cfg

GROUP = 'database'

OPTIONS = [
    cfg.FloatOpt(
        'connect_timeout',
        min=0.1,
        default=2,
        help='Seconds until a host of the database has accepted a connection. After that the next host of [database] '
        'connection is tried. A host that does not answer a check for so long while requests wait for it is taken for '
        'dead.',
    ),
    cfg.IntOpt(
        'lock_timeout',
        min=1,
        default=30,
        help='Seconds that a transaction waits for a lock of another one. Then the response is a 503.',
    ),
    cfg.IntOpt(
        'statement_timeout',
        min=1,
        default=40,
        help='Seconds that a statement may take. The database ends it then (PostgreSQL and MariaDB), and the response '
        'is a 503. A transaction that has sent nothing for so long is rolled back, too. It does not apply to '
        'migrations. Set it to more than lock_timeout.',
    ),
    cfg.IntOpt(
        'request_timeout',
        min=1,
        default=120,
        help='Seconds that a request may wait for the database, with all its statements and retries. Then the response '
        'is a 503. It applies to PostgreSQL, MariaDB and MySQL.',
    ),
]


def register(conf):
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
