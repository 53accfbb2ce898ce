"""The base of the controllers."""

import pecan
from pecan.rest import RestController
from pecan.routing import lookup_controller

_VERBS = ('get_one', 'post', 'put', 'patch', 'delete')


class Resource(RestController):
    """A noun of the API: methods for the verbs, ``children`` for what stands below it in paths.

    :cvar children: {path segment: Resource}.
    """

    children = {}

    def __init__(self):
        # pecan looks for sub-controllers by attribute.
        for name, child in self.children.items():
            setattr(self, name, child)

    @pecan.expose()
    def _route(self, args, request=None):
        if not any(hasattr(self, verb) for verb in _VERBS) and args and args[0]:
            # Nothing but children stands below.  pecan would say 405 where there is none, and give the methods of this
            # resource in the Allow header of a child.
            if args[0] not in self.children:
                pecan.abort(404)
            return lookup_controller(self.children[args[0]], args[1:], request)
        return super()._route(args, request)

    def _lookup_child(self, remainder):
        # pecan would take any attribute that a path names, __class__ for one.
        if remainder in self.children or remainder in ('get_all', *_VERBS) or remainder in self._custom_actions:
            return getattr(self, remainder, None)
        return None
