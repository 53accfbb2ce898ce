"""The responses to exceptions. ``ironic_traits.failures`` has the failures themselves, and imports no library."""

import logging
import urllib.parse
from collections.abc import Iterable
from typing import Any
from wsgiref.types import WSGIEnvironment

import webob
import webob.exc
import wsme.exc

from ironic_traits import failures, masks
from ironic_traits.api.resource import CONTEXT
from ironic_traits.db.failover import outage
from ironic_traits.failures import Failure

LOG = logging.getLogger(__name__)


def from_exception(error: Exception) -> Failure:
    """Return the Failure for an exception of a library: pecan, WSME, the database.

    :returns: the exception itself if it is a Failure; InternalError for an unexpected exception, whose message does
        not reveal the cause.
    """
    if isinstance(error, failures.Failure):
        return error
    if isinstance(error, webob.exc.HTTPException):
        return _routing(error)
    if isinstance(error, wsme.exc.ClientSideError):
        return failures.InvalidInput(reason=error.faultstring)
    if outage.is_unavailable(error):
        return failures.DatabaseUnavailable()
    if outage.is_too_large(error):
        return failures.TooLargeForDatabase()
    return failures.InternalError()


def answer(environ: WSGIEnvironment, failure: Failure, headers: Iterable[tuple[str, str]] = ()) -> webob.Response:
    """Return the response to a request that failed, in the format of its API.

    :param headers: further headers, [(name, value), …].
    :returns: webob.Response, which is a WSGI application.
    """
    body, content_type = environ[CONTEXT].protocol.failure(failure, environ)
    response = webob.Response(status=failure.status, body=body, content_type=content_type)
    response.headers.extend(headers)
    if failure.allow is not None:
        response.headers['Allow'] = failure.allow
    if failure.retry_after is not None:
        response.headers['Retry-After'] = str(failure.retry_after)
    return response


def answer_to(environ: WSGIEnvironment, error: Exception) -> webob.Response:
    """Return the response to a request that raised an exception, and log the exception if it is unexpected."""
    failure = from_exception(error)
    is_expected = failure is error and failure.retry_after is not None
    if failure.status >= 500 and not is_expected:
        outage.log(LOG, error, '%s %s failed', environ['REQUEST_METHOD'], url_path(environ))
    return answer(environ, failure)


def _routing(error: Any) -> Failure:
    """Return the failure for an exception that pecan or the router raised."""
    if error.status_int == 405:
        return failures.MethodNotAllowed(allowed=getattr(error, 'allow', None) or ())
    if error.status_int == 404:
        # The router may know which endpoint the client meant.
        return failures.AddressNotFound(hint=f' {error.detail}' if error.detail else '')
    if error.status_int == 406:
        return failures.NotAcceptable()
    return failures.InvalidInput(reason=error.detail or error.explanation)


def url_path(environ: WSGIEnvironment) -> str:
    """Return the path of a request as in its URL, without secrets, and quoted: it may contain newlines."""
    path = (environ.get('SCRIPT_NAME', '') + environ['PATH_INFO']).encode('latin-1')
    return masks.tokens(urllib.parse.quote(path))
