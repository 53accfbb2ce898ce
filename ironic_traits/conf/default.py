"""Options of [DEFAULT]: listening address, processes and database. All of them are command-line arguments, too."""

from oslo_config import cfg

GROUP = 'DEFAULT'

OPTIONS = [
    cfg.HostAddressOpt(
        'host',
        default='127.0.0.1',
        help='Address that ironic-traits-api listens on. By default only this machine can reach it.',
    ),
    cfg.PortOpt(
        'port',
        default=6385,
        help='TCP port that ironic-traits-api listens on. With 0, the service takes a free port and prints it.',
    ),
    cfg.IntOpt('workers', min=1, default=1, help='Number of processes of ironic-traits-api that serve requests.'),
    cfg.BoolOpt(
        'start-worker',
        default=True,
        help='Whether ironic-traits-api starts an ironic-traits-worker process, and restarts it when it ends. Disable '
        'it when you run ironic-traits-worker as a service of its own.',
    ),
    cfg.StrOpt(
        'database',
        dest='database_url',
        metavar='URL',
        help='SQLAlchemy URL of the database: sqlite:///FILE, postgresql+psycopg://…, mysql+pymysql://…. It takes '
        'precedence over [database] connection. Without either, the service uses a SQLite file in state_path. Write a '
        'URL with a password to a configuration file: everyone on the machine can see the command line.',
    ),
    cfg.StrOpt(
        'state-path',
        default='ironic-traits-data',
        help='Directory of the SQLite database that is used when no database is configured. A relative path is '
        'relative to the current directory. The directory is created if it does not exist.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options for configuration files and for the command line."""
    conf.register_cli_opts(OPTIONS)
