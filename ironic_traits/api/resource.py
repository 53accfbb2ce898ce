"""The base of the controllers."""

from pecan.rest import RestController


class Resource(RestController):
    """A noun of the API: methods for the verbs, ``children`` for what stands below it in paths.

    :cvar children: {path segment: Resource}.
    """

    children = {}

    def __init__(self):
        # pecan looks for sub-controllers by attribute.
        for name, child in self.children.items():
            setattr(self, name, child)

    def _lookup_child(self, remainder):
        # pecan would take any attribute that a path names, __class__ for one.
        if remainder in self.children or remainder in _VERBS or remainder in self._custom_actions:
            return getattr(self, remainder, None)
        return None


_VERBS = ('get_all', 'get_one', 'post', 'put', 'patch', 'delete')
