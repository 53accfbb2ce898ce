"""The base class of the controllers, which routes requests to their methods."""

import functools
from typing import Any

from webob import exc

#: The methods of a Resource for each HTTP method.
METHODS = {
    'GET': ('get_all', 'get_one'),
    'POST': ('post',),
    'PUT': ('put_all', 'put'),
    'PATCH': ('patch',),
    'DELETE': ('delete_all', 'delete'),
}
#: HTTP methods whose requests write nothing, take no locks, and have no body.
READS = frozenset({'GET', 'HEAD', 'OPTIONS'})
#: Key in the WSGI environ of the context of the request, which the middleware (``api.layers.middleware``) makes.
CONTEXT = 'ironic_traits.context'
#: Key in the WSGI environ of the path of the route, such as /v1/nodes/{node_ident}/traits. Missing without a route.
ROUTE = 'ironic_traits.route'
#: Key in the WSGI environ of the root of the controllers.
ROOT = 'ironic_traits.root'
#: Key in the WSGI environ that is set if the path ends in a name with .json, which may be a suffix or part of the name.
SUFFIXED = 'ironic_traits.suffixed'
#: Key in the WSGI environ that is set if the server sends streams without the thread of the request.
DETACHED = 'ironic_traits.detached'
#: Key in the WSGI environ of the stream (``change_streams.Events``) that needs the thread of the request.
STREAM = 'ironic_traits.stream'
#: Key in the WSGI environ of a request that is refused because too many wait (``api.layers.request_queue``).
REFUSED = 'ironic_traits.refused'
#: What ``Resource.find`` returns.
Found = tuple[Any, list[str], str]
_PARAMETER = '/{{{}}}'


class Resource:
    """A resource of the API, with methods for HTTP methods, and other resources below it.

    The application (``hooks.Application``) asks the root for the route of each request.
    doc/source/contributor/decisions/expose.rst says why pecan's own RestController is not used.

    :cvar children: {path segment: Resource} below the resource itself, such as detail in /v1/nodes/detail.
    :cvar since: the minor version that brought the resource.
    :cvar members: {path segment: Resource} below one of its items, such as traits in /v1/nodes/{node}/traits.
    """

    since = 1
    children: 'dict[str, Resource]' = {}
    members: 'dict[str, Resource]' = {}

    def route(self, request: Any) -> tuple[Any, list[str]]:
        """Return the exposed method for a request and its path parameters.

        The path of its route and the root are put into the environ.

        """
        method, parameters, path = self.locate(
            [segment for segment in request.path_info.split('/')[1:] if segment], request
        )
        request.environ[ROOT] = self
        request.environ[ROUTE] = path.format(*method.route.path_names) or '/'
        return method, parameters

    def locate(self, segments: list[str], request: Any) -> Found:
        """Return the exposed method for a request, as ``find`` does.

        :param segments: the segments of its path.
        """
        return self.find(segments, request.method, [], '')

    def find(self, segments: list[str], method: str, taken: list[str], path: str) -> Found:
        """Return the exposed method for a path and an HTTP method.

        :param segments: the remaining segments of the path.
        :param taken: the values of the path parameters in the segments before.
        :param path: the segments before, joined, with a placeholder for each parameter.
        :returns: (exposed method, values of its path parameters, the whole path with placeholders). The placeholders
            are for ``str.format``, which puts the names of the parameters into them: ``{name}``.
        :raises webob.exc.HTTPNotFound: there is no resource at this path.
        :raises webob.exc.HTTPMethodNotAllowed: the resource does not support the method. The exception has the resource
            as ``resource``, and as ``since`` the minor version that brought the first of its methods.
        """
        if segments and segments[0] in self.children:
            return self.children[segments[0]].find(segments[1:], method, taken, f'{path}/{segments[0]}')
        return self.find_item(segments, method, taken, path)

    def find_item(self, segments: list[str], method: str, taken: list[str], path: str) -> Found:
        """Return what ``find`` does, for a path that is not that of one of the children."""
        if len(segments) > 1 and segments[1] in self.members:
            member_path = f'{path}{_PARAMETER}/{segments[1]}'
            return self.members[segments[1]].find(segments[2:], method, [*taken, segments[0]], member_path)
        parameters = [*taken, *segments]
        exposed = _exposed(self, len(parameters))
        if not exposed:
            raise exc.HTTPNotFound
        if method not in exposed:
            error = exc.HTTPMethodNotAllowed()
            error.allow, error.resource = sorted(exposed), self
            error.since = min(each.route.since for each in exposed.values())
            raise error
        return exposed[method], parameters, path + _PARAMETER * len(segments)


@functools.lru_cache(maxsize=1024)
def _exposed(resource: Resource, count: int) -> dict[str, Any]:
    """Return the exposed methods of a resource that take this many path parameters: {HTTP method: exposed method}."""
    exposed = ((method, getattr(resource, name, None)) for method, names in METHODS.items() for name in names)
    return {method: each for method, each in exposed if each and count in each.route.path_lengths}
