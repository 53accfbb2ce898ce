"""The base of the controllers: which method answers which address."""

import pecan
from webob import exc

#: The methods of a resource that answer each HTTP method.
METHODS = {
    'GET': ('get_all', 'get_one'),
    'POST': ('post',),
    'PUT': ('put_all', 'put'),
    'PATCH': ('patch',),
    'DELETE': ('delete_all', 'delete'),
}
#: Where the path of a request's route stands in its environ, as /v1/nodes/{node_ident}/traits; missing without a route.
ROUTE = 'ironic_traits.route'
#: In a request's environ: the last parameter of its path is a name, and has a suffix that need not belong to it.
SUFFIXED = 'ironic_traits.suffixed'
_PARAMETER = '/{{{}}}'


class Resource:
    """A noun of the API: methods for the verbs, other nouns below it.

    pecan hands the rest of a path to ``_route``.  Not pecan's own RestController: that takes any attribute of the
    object that a path names, turns ``_method`` in a query into the method, and looks at signatures for half of a
    request's time.

    :cvar children: {path segment: Resource} below the resource itself, as detail in /v1/nodes/detail.
    :cvar since: the minor version that brought the noun.
    :cvar members: {path segment: Resource} below one of its items, as traits in /v1/nodes/{node}/traits.
    """

    since = 1
    children: 'dict[str, Resource]' = {}
    members: 'dict[str, Resource]' = {}

    @pecan.expose()
    def _route(self, args, request=None):
        route, parameters, path = self.locate([segment for segment in args if segment], request)
        request.environ[ROUTE] = path.format(*route.path_names) or '/'
        return route, parameters

    def locate(self, segments, request):
        """Find the route of a request, as ``find`` does.

        :param segments: of its path.
        :param request: webob.Request.
        """
        return self.find(segments, request.method, [], '')

    def find(self, segments, method, taken, path):
        """Find the route of an address.

        :param segments: what is left of the path.
        :param method: the HTTP method.
        :param taken: what stood for a parameter further up in the path.
        :param path: all that is not left, with {{{}}} for a parameter.
        :returns: (route, its path parameters, the whole path).
        :raises webob.exc.HTTPNotFound: nothing is served there.
        :raises webob.exc.HTTPMethodNotAllowed: something is, by other methods.
        """
        if segments and segments[0] in self.children:
            return self.children[segments[0]].find(segments[1:], method, taken, f'{path}/{segments[0]}')
        if len(segments) > 1 and segments[1] in self.members:
            below = f'{path}{_PARAMETER}/{segments[1]}'
            return self.members[segments[1]].find(segments[2:], method, [*taken, segments[0]], below)
        parameters = [*taken, *segments]
        served = self._served(len(parameters))
        if not served:
            raise exc.HTTPNotFound
        if method not in served:
            error = exc.HTTPMethodNotAllowed()
            error.allow = sorted(served)
            raise error
        return served[method], parameters, path + _PARAMETER * len(segments)

    def _served(self, parameters):
        """Give the routes that take this many path parameters, by HTTP method."""
        routes = ((method, getattr(self, name, None)) for method, names in METHODS.items() for name in names)
        return {method: route for method, route in routes if route and parameters in route.path_parameters}
