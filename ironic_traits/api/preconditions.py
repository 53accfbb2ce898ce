"""If-Match on writes.

A write with If-Match is executed only if the header has the ETag of the resource: that of a GET of the same path by the
same caller, without query parameters. If the path has no GET, the nearest path above it counts, down to the single
resource: /v1/nodes/X/states for PUT /v1/nodes/X/states/provision, /v1/nodes/X/traits for DELETE /v1/nodes/X/traits/T,
/v1/nodes/X for PUT /v1/nodes/X/maintenance.

Each transaction of the request begins with the lock of the resource, and then runs the route of the GET inside the
transaction. doc/source/contributor/decisions/if_match.rst says why.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from wsgiref.types import WSGIEnvironment

import sqlalchemy as sa
from webob import exc

from ironic_traits import failures
from ironic_traits.api import conditional, rendering
from ironic_traits.api.resource import ROOT, ROUTE
from ironic_traits.context import Context
from ironic_traits.inventory.holds.row_locks import LOCKS
from ironic_traits.uuids import canonical

#: Keys of the environ that the GET does not get: it has no body, and is not conditional.
_DROPPED = (conditional.IF_MATCH, 'HTTP_IF_NONE_MATCH', 'CONTENT_TYPE', 'wsgi.input', 'webob._parsed_query_vars')


def refuse(context: Context) -> None:
    """Raise IfMatchUnsupported if a request has If-Match: for routes that do not support it."""
    if conditional.IF_MATCH in context.request.environ:
        raise _unsupported(context.request.environ)


def guard(context: Context, path: Sequence[str]) -> contextlib.AbstractContextManager[None]:
    """Return a context manager that makes the writes of the request in the block depend on its If-Match, if it has one.

    :param context: Context of the request. Its transactions begin with the comparison.
    :param path: the path parameters.
    :raises failures.IfMatchUnsupported: the route does not write to a single resource.
    :raises failures.PreconditionFailed: the ETag of the resource is another.
    """
    if conditional.IF_MATCH not in context.request.environ or context.request.method == 'GET':
        return _NO_GUARD
    return _guard(context, path)


_NO_GUARD: contextlib.AbstractContextManager = contextlib.nullcontext()


@contextlib.contextmanager
def _guard(context: Context, path: Sequence[str]) -> Iterator[None]:
    precondition = _Precondition(context, path)
    context.guard = precondition.lock_and_check
    try:
        yield
    finally:
        context.guard = None
    if not precondition.was_checked:
        # There was no transaction, and nothing was written.
        with context.read() as connection:
            precondition.check(connection)


class _Precondition:
    """The If-Match of a request that writes; the parameters are those of ``guard``."""

    def __init__(self, context: Context, path: Sequence[str]) -> None:
        self._context, self._environ = context, context.request.environ
        self._collection, self._ident = _resource(self._environ, path)
        self._url, (self._method, self._path, self._template) = _readable(self._environ, path)
        self.was_checked = False

    def lock_and_check(self, connection: sa.Connection) -> None:
        """Lock the resource, and raise PreconditionFailed unless If-Match has its ETag.

        A route may have several transactions. It compares in each, so only the last one may write to the resource.
        """
        LOCKS[self._collection](connection, self._ident)
        self.check(connection)

    def check(self, connection: sa.Connection) -> None:
        """Raise PreconditionFailed unless If-Match has the ETag of the resource."""
        self.was_checked = True
        try:
            tag = self._tag(connection)
        except failures.Failure as failure:
            creates = self._environ['REQUEST_METHOD'] == 'PUT' and failure.status == 404
            if not creates or isinstance(failure, failures.NodeNotFound):
                raise
            tag = None
        if tag is None or not conditional.matches(self._environ, tag):
            raise failures.PreconditionFailed(self._url, tag)

    def _tag(self, connection: sa.Connection) -> str:
        """Return the ETag of the response to the GET, read through a connection."""
        environ = {name: value for name, value in self._environ.items() if name not in _DROPPED}
        environ |= {'REQUEST_METHOD': 'GET', 'QUERY_STRING': '', 'CONTENT_LENGTH': '0'}
        environ[ROUTE] = self._template.format(*self._method.route.path_names)
        context = self._context.of_read(type(self._context.request)(environ), connection)
        result = self._method.route.respond(self._method.__self__, context, tuple(self._path)).body
        return conditional.digest_of(result if isinstance(result, bytes) else rendering.dump(result))


def _resource(environ: WSGIEnvironment, path: Sequence[str]) -> tuple[str, str]:
    """Return the collection and the uuid or name of the single resource that a request writes to.

    :raises failures.IfMatchUnsupported: it writes to none.
    """
    collection = environ[ROUTE].removeprefix('/v1/').partition('/{')[0]
    if not path or collection not in LOCKS:
        raise _unsupported(environ)
    ident = path[0]
    return collection, canonical(ident)


def _readable(environ: WSGIEnvironment, path: Sequence[str]) -> tuple[str, tuple[Any, list[str], str]]:
    """Return the path of the GET whose ETag counts, and what ``Resource.find`` returns for it.

    :raises failures.IfMatchUnsupported: there is no such GET.
    """
    template = environ[ROUTE].strip('/').split('/')
    values = iter(path)
    segments = [next(values) if segment.startswith('{') else segment for segment in template]
    while any(segment.startswith('{') for segment in template[: len(segments)]):
        with contextlib.suppress(exc.HTTPNotFound, exc.HTTPMethodNotAllowed):
            return f'/{"/".join(segments)}', environ[ROOT].find(segments, 'GET', [], '')
        segments.pop()
    raise _unsupported(environ)


def _unsupported(environ: WSGIEnvironment) -> failures.IfMatchUnsupported:
    return failures.IfMatchUnsupported(
        route=f'{environ["REQUEST_METHOD"]} {environ.get(ROUTE) or environ["PATH_INFO"]}'
    )
