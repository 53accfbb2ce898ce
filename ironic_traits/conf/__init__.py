"""Options of the service, one module per group.

``make(argv)`` returns a parsed ConfigOpts. It is passed to what needs it; there is no global one. oslo-config-generator
reads ``list_opts``.
"""

import contextlib
import ipaddress
import os
from collections.abc import Sequence

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import options as db_options
from oslo_log import log
from oslo_middleware import cors
from oslo_policy import opts as policy_opts

from ironic_traits.conf import (
    api,
    changes,
    database,
    default,
    deploy,
    fake_hardware,
    glance,
    history,
    inspection,
    inventory,
    matching,
    metrics,
    mirror,
    nova,
    otlp,
    placement,
    redfish,
    reservations,
)
from ironic_traits.version import version

GROUPS = (
    default,
    api,
    database,
    deploy,
    fake_hardware,
    inventory,
    inspection,
    history,
    changes,
    reservations,
    matching,
    placement,
    redfish,
    glance,
    nova,
    metrics,
    otlp,
    mirror,
)

#: Response headers that web pages of other origins may read (CORS).
EXPOSED_HEADERS = [
    'Location',
    'X-OpenStack-Request-ID',
    'X-OpenStack-Ironic-API-Version',
    'X-OpenStack-Ironic-API-Minimum-Version',
    'X-OpenStack-Ironic-API-Maximum-Version',
    'OpenStack-API-Version',
]


def make(argv: Sequence[str] = (), cli: Sequence[cfg.Opt] = ()) -> cfg.ConfigOpts:
    """Return the configuration of one service, parsed and checked.

    :param argv: command-line arguments, without the program's name.
    :param cli: additional command-line options.
    :raises oslo_config.cfg.Error: a file does not exist or may not be read, or a value is invalid.
    """
    conf = cfg.ConfigOpts()
    set_library_defaults()
    log.register_options(conf)
    # The log goes to stderr, because stdout is for the output of commands.
    conf.set_default('use_stderr', True)
    for module in GROUPS:
        module.register(conf)
    conf.register_opts(db_options.database_opts, group='database')
    conf.register_opts(cors.CORS_OPTS, group='cors')
    conf.set_default('expose_headers', EXPOSED_HEADERS, group='cors')
    policy_opts.set_defaults(conf)
    conf.register_cli_opts(cli)
    try:
        conf(list(argv), project='ironic-traits', version=version())
        _check_directories(conf)
        # oslo.config replaces $NAME, also in the value of an override.
        conf.set_override('connection', _database_url(conf).replace('$', '$$'), group='database')
        _check_values(conf)
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError) as error:
        raise cfg.Error(f'{error}. In a value, $NAME is the value of the option NAME, and $$ is a "$".') from error
    return conf


def _check_directories(conf: cfg.ConfigOpts) -> None:
    """Raise Error for a directory of configuration files that may not be read.

    oslo.config takes such a directory for an empty one. The service would run with its defaults: without
    authentication, on an empty database.
    """
    is_default = conf.config_file == conf.default_config_files
    directories = [os.path.expanduser('~/.ironic-traits'), '/etc/ironic-traits'] if is_default else []
    for directory in [*directories, *conf.config_dir]:
        try:
            names = os.listdir(directory)
            # A directory whose files are listed may still not be entered.
            all(os.stat(os.path.join(directory, name)) for name in names[:1])
        except PermissionError as error:
            if os.path.isdir(directory):
                raise cfg.Error(
                    f'{directory} may not be read by this user. Run the command as the user of the service, or say '
                    'where the configuration is: --config-file FILE --config-dir DIRECTORY.'
                ) from error
        except OSError:
            # It does not exist, or has a broken link.
            continue


def _check_values(conf: cfg.ConfigOpts) -> None:
    """Raise Error for an invalid value, or for an auth_strategy that is unsafe on this host.

    Reading every option is the check: oslo.config validates a value from a file only when it is read.
    """
    for group, options in list_opts():
        for option in options:
            getattr(conf if group == 'DEFAULT' else conf[group], option.dest)
    is_exposed = not _is_loopback(conf.host)
    if conf.api.auth_strategy == 'noauth2' and is_exposed:
        raise cfg.Error(
            f'[api] auth_strategy is noauth2, which is allowed on a loopback address only: host is {conf.host}.'
        )
    if conf.api.auth_strategy == 'noauth' and is_exposed and not conf.api.noauth_beyond_loopback:
        raise cfg.Error(
            f'Every client that reaches {conf.host} could do everything, because [api] auth_strategy is noauth. Set it '
            'to keystone or http_basic, or set [api] noauth_beyond_loopback if you want no authentication.'
        )


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == 'localhost'


def _database_url(conf: cfg.ConfigOpts) -> str:
    """Return the database URL: --database, else [database] connection, else a SQLite file in the state path."""
    if conf.database_url:
        return conf.database_url
    if conf.database.connection:
        return conf.database.connection
    return 'sqlite:///' + os.path.join(os.path.abspath(conf.state_path), 'ironic-traits.sqlite')


def database_name(conf: cfg.ConfigOpts) -> str:
    """Return the URL of the database, without its password, for people."""
    return sa.make_url(conf.database.connection).render_as_string(hide_password=True)


def set_library_defaults() -> None:
    """Change defaults of the libraries' options: their routine log messages are noise here.

    keystoneauth raises an exception for each failure, too, and the service says in one line what it was.
    """
    quiet = ['alembic=WARN', 'pecan=WARN', 'wsme=WARN', 'oslo_db.sqlalchemy.exc_filters=ERROR', 'keystoneauth=CRITICAL']
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), *quiet])


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """Return the service's own options for oslo-config-generator: [(group, [option, …]), …]."""
    return [(module.GROUP, module.OPTIONS) for module in GROUPS]
