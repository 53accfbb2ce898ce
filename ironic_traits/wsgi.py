"""``application``, for any WSGI server: gunicorn ironic_traits.wsgi:application, uwsgi --module ironic_traits.wsgi.

Reads /etc/ironic-traits/ironic-traits.conf and its like, or the files and folders that IRONIC_TRAITS_CONFIG_FILES names
(separated by colons).

Which address the server listens on is not known here, and neither is it known from a request who can reach the server:
behind a proxy every client seems to be on this machine.  So nobody is served without authentication unless the
configuration says explicitly that everyone may come; and noauth2, which is for tests, is not served at all.
"""

import os
import sys

from ironic_traits import app
from ironic_traits.cmd import setup


def _load():
    files = os.environ.get('IRONIC_TRAITS_CONFIG_FILES', '').split(':')
    conf = setup.configuration([f'--config-file={name}' for name in files if name])
    setup.warn(conf)
    strategy = conf.api.auth_strategy
    if strategy == 'noauth2' or (strategy == 'noauth' and not conf.api.noauth_beyond_loopback):
        sys.exit(
            f'The configuration cannot be used: [api] auth_strategy = {strategy} behind a WSGI server whose address is '
            'not known here: everyone who reaches it could do everything. If that is what you want, set auth_strategy '
            '= noauth and noauth_beyond_loopback = true.'
        )
    setup.schema(conf)
    with setup.usable():
        loaded = app.build(conf)
    setup.policy(loaded.service)
    return loaded


try:
    application = _load()
except SystemExit as error:
    # uWSGI and gunicorn start a process that exits again and again, and give up only on other exceptions.
    raise RuntimeError(str(error)) from None
