"""The access log (a line for each request) and the audit log (a line for each write).

Operators enable them in the configuration. The lines have the method, the path, the status and the user. They never
have tokens, passwords, bodies or query strings.
"""

import logging
from wsgiref.types import WSGIEnvironment

from oslo_config import cfg

from ironic_traits import masks
from ironic_traits.api.resource import CONTEXT, READS

ACCESS = logging.getLogger('ironic_traits.access')
AUDIT = logging.getLogger('ironic_traits.audit')


class RequestLog:
    """The logger of requests, as configured by [api] access_log and audit_log."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._access = conf.api.access_log
        self._audit = conf.api.audit_log

    def record(self, environ: WSGIEnvironment, status: str, seconds: float) -> None:
        """Log a request.

        :param environ: WSGI environ of the request, with its context.
        :param status: HTTP status of the response, as text.
        :param seconds: time until the response.
        """
        is_audited = self._audit and environ['REQUEST_METHOD'] not in READS
        if not self._access and not is_audited:
            return
        context = environ[CONTEXT]
        method, path, caller = environ['REQUEST_METHOD'], _path(environ), _caller(environ)
        if self._access:
            milliseconds = seconds * 1000
            ACCESS.info('%s %s %s in %.1f ms, %s, %s', method, path, status, milliseconds, caller, context.request_id)
        if is_audited:
            outcome = 'done' if status < '400' else 'refused' if status < '500' else 'failed'
            AUDIT.info('%s %s %s (%s), %s, %s', method, path, outcome, status, caller, context.request_id)


def _path(environ: WSGIEnvironment) -> str:
    """Return the path of a request, without secrets."""
    path = environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', '')
    return masks.tokens(path.encode('latin-1').decode(errors='backslashreplace'))


def _caller(environ: WSGIEnvironment) -> str:
    """Return a text with the user and the project of a request, as far as authentication found them."""
    context = environ[CONTEXT]
    # REMOTE_USER is not an HTTP header, so clients cannot set it.
    user = context.user_id or environ.get('REMOTE_USER') or '-'
    return f'user {user} of project {context.project_id}' if context.project_id else f'user {user}'
