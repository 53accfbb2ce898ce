"""``application``, for any WSGI server: gunicorn ironic_traits.wsgi:application, uwsgi --module ironic_traits.wsgi.

The configuration is read from the default files (/etc/ironic-traits/ironic-traits.conf and others), or from the files
and directories in IRONIC_TRAITS_CONFIG_FILES, separated by colons.

This module cannot know which address the server listens on. Requests do not say who can reach it either: behind a
proxy, every client seems to be on this machine. So the service does not start without authentication unless the
configuration allows that explicitly (noauth_beyond_loopback). It never starts with noauth2, which is for tests.
"""

import atexit
import os
import sys
from wsgiref.types import WSGIApplication

from ironic_traits import app
from ironic_traits.api.layers.request_spans import RequestSpans
from ironic_traits.cmd import setup, tracing
from ironic_traits.service import Service


def _load() -> WSGIApplication:
    files = os.environ.get('IRONIC_TRAITS_CONFIG_FILES', '').split(':')
    conf = setup.configuration([f'--config-file={name}' for name in files if name])
    setup.warn(conf)
    strategy = conf.api.auth_strategy
    if strategy == 'noauth2' or (strategy == 'noauth' and not conf.api.noauth_beyond_loopback):
        sys.exit(
            f'The configuration cannot be used: with [api] auth_strategy = {strategy} behind a WSGI server, which may '
            'listen on any address, every client that reaches the server could do everything. To allow that, set '
            'auth_strategy = noauth and noauth_beyond_loopback = true.'
        )
    setup.schema(conf)
    with setup.usable():
        service = Service(conf)
        loaded = app.build(service)
    setup.policy(service)
    if not conf.otlp.endpoint:
        return loaded
    tracing.begin(conf, 'ironic-traits-api')
    atexit.register(tracing.end)
    return RequestSpans(loaded)


try:
    application = _load()
except SystemExit as error:
    # uWSGI and gunicorn restart a process that exits, forever. They give up only on other exceptions.
    raise RuntimeError(str(error)) from None
