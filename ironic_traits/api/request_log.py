"""Who did what, for those who turn it on: a line for each request, and one for each write.

Neither tokens nor passwords nor bodies are in it, and no query: only the method, the path, and what came of it.
"""

import logging

from ironic_traits.api.expose import CONTEXT

ACCESS = logging.getLogger('ironic_traits.access')
AUDIT = logging.getLogger('ironic_traits.audit')

_READS = frozenset({'GET', 'HEAD', 'OPTIONS'})


class RequestLog:
    """Logs requests as [api] access_log and audit_log say.

    :param conf: ConfigOpts.
    """

    def __init__(self, conf):
        self._access = conf.api.access_log
        self._audit = conf.api.audit_log

    def record(self, environ, status, seconds):
        """Log a request.

        :param environ: the request's, with the context of whoever was found to send it.
        :param status: the HTTP status of the answer, as text.
        :param seconds: until the answer.
        """
        audited = self._audit and environ['REQUEST_METHOD'] not in _READS
        if not self._access and not audited:
            return
        context = environ[CONTEXT]
        method, path, who = environ['REQUEST_METHOD'], _path(environ), _who(environ)
        # With the context, a log format that shows the request's id shows it here, too.
        if self._access:
            milliseconds = seconds * 1000
            ACCESS.info('%s %s %s in %.1f ms, %s, %s', method, path, status, milliseconds, who, context.request_id)
        if audited:
            outcome = 'done' if status < '400' else 'refused' if status < '500' else 'failed'
            AUDIT.info('%s %s %s (%s), %s, %s', method, path, outcome, status, who, context.request_id)


def _path(environ):
    """Return the path of a request as text."""
    path = environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', '')
    return path.encode('latin-1').decode(errors='backslashreplace')


def _who(environ):
    """Return the user and the project of a request, as far as authentication found them."""
    context = environ[CONTEXT]
    # Not a header: a client could send that.
    user = context.user_id or environ.get('REMOTE_USER') or '-'
    return f'user {user} of project {context.project_id}' if context.project_id else f'user {user}'
