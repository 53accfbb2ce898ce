"""[DEFAULT]: where the service listens and where it keeps its data.  Each is a command-line argument too."""

from oslo_config import cfg

GROUP = 'DEFAULT'

OPTIONS = [
    cfg.HostAddressOpt('host', default='127.0.0.1', help='Address to listen on.'),
    cfg.PortOpt('port', default=6385, help='TCP port to listen on.'),
    cfg.IntOpt('workers', min=1, default=1, help='Number of processes that answer requests.'),
    cfg.BoolOpt(
        'start-worker',
        default=True,
        help='Whether ironic-traits-api starts an ironic-traits-worker by itself, and another one when it ends.',
    ),
    cfg.StrOpt(
        'database',
        dest='database_url',
        metavar='URL',
        help='SQLAlchemy URL of the database: sqlite:///FILE, postgresql+psycopg2://…, mysql+pymysql://…. '
        'Goes before [database] connection; with neither, a SQLite file in state_path is used.',
    ),
    cfg.StrOpt(
        'state-path',
        default='ironic-traits-data',
        help='Folder of the SQLite database when no other database is named. Made when missing.',
    ),
]


def register(conf):
    """Register these options, for configuration files and the command line."""
    conf.register_cli_opts(OPTIONS)
