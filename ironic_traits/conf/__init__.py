"""The options of the service, one module per group; a ConfigOpts is made here and passed on, never a global.

``make(argv)`` gives the parsed ConfigOpts; ``list_opts`` is what oslo-config-generator reads.
"""

import contextlib
import ipaddress
import os

from oslo_config import cfg
from oslo_db import options as db_options
from oslo_log import log
from oslo_middleware import cors
from oslo_policy import opts as policy_opts

from ironic_traits.conf import api, default, deploy, fake_hardware, glance, inventory, metrics, placement, reservations
from ironic_traits.version import version

GROUPS = (default, api, deploy, fake_hardware, inventory, reservations, placement, glance, metrics)

#: Headers of answers that pages of other origins may read.
EXPOSED_HEADERS = [
    'Location',
    'X-OpenStack-Request-ID',
    'X-OpenStack-Ironic-API-Version',
    'X-OpenStack-Ironic-API-Minimum-Version',
    'X-OpenStack-Ironic-API-Maximum-Version',
    'OpenStack-API-Version',
]


def make(argv=(), cli=()):
    """Make the configuration of one service.

    :param argv: command-line arguments, without the program's name.
    :param cli: more options that the command line takes.
    :returns: an oslo.config ConfigOpts, ready to be passed on.
    :raises oslo_config.cfg.Error: a file is not there, or a value is not what it must be.
    """
    conf = cfg.ConfigOpts()
    set_library_defaults()
    log.register_options(conf)
    # Not stdout, which is for what the commands print.
    conf.set_default('use_stderr', True)
    for module in GROUPS:
        module.register(conf)
    conf.register_opts(db_options.database_opts, group='database')
    conf.register_opts(cors.CORS_OPTS, group='cors')
    conf.set_default('expose_headers', EXPOSED_HEADERS, group='cors')
    policy_opts.set_defaults(conf)
    conf.register_cli_opts(cli)
    conf(list(argv), project='ironic-traits', version=version())
    conf.set_override('connection', _database_url(conf), group='database')
    _check_values(conf)
    return conf


def _check_values(conf):
    """Look at every option: oslo.config refuses a wrong value of a file only when it is asked for."""
    for group, options in list_opts():
        for option in options:
            getattr(conf if group == 'DEFAULT' else conf[group], option.dest)
    beyond = not _is_loopback(conf.host)
    if conf.api.auth_strategy == 'noauth2' and beyond:
        raise cfg.Error(f'[api] auth_strategy = noauth2 believes whatever it is told: host is {conf.host}, no loopback')
    if conf.api.auth_strategy == 'noauth' and beyond and not conf.api.noauth_beyond_loopback:
        raise cfg.Error(
            f'Everyone who reaches {conf.host} could do everything: [api] auth_strategy says how it is found out who '
            'asks. If that is what you want, set [api] noauth_beyond_loopback.'
        )


def _is_loopback(host):
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == 'localhost'


def _database_url(conf):
    """Where the data lives: --database, else [database] connection, else a SQLite file in the state path."""
    if conf.database_url:
        return conf.database_url
    if conf.database.connection:
        return conf.database.connection
    return 'sqlite:///' + os.path.join(os.path.abspath(conf.state_path), 'ironic-traits.sqlite')


def set_library_defaults():
    """Defaults of the libraries' options that are ours: what they do by themselves is not worth a line."""
    quiet = ['alembic=WARN', 'pecan=WARN', 'wsme=WARN', 'oslo_db.sqlalchemy.exc_filters=ERROR']
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), *quiet])


def list_opts():
    """All options of the service's own, as oslo-config-generator wants them: [(group, [option, …]), …]."""
    return [(module.GROUP, module.OPTIONS) for module in GROUPS]
