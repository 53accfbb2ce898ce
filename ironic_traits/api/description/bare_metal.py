"""The operations of the Bare Metal API."""

from ironic_traits.api import expose, rendering
from ironic_traits.api.description import types
from ironic_traits.api.v1.node_fields import FIELDS_SINCE


class BareMetal:
    """What the document of a version says about the Bare Metal API.

    :param minor: the minor version.
    """

    def __init__(self, minor):
        self._minor = minor
        self._components = types.Components(minor)

    @property
    def schemas(self):
        """The schemas that the operations refer to: {name: JSON schema}."""
        return self._components.schemas

    def serves(self, function):
        """Whether the version has a route."""
        return function.since <= self._minor

    def query(self, function):
        """Return the query parameters of a route, a list."""
        definition = function.definition
        since = {'fields': FIELDS_SINCE, **types.query_since(definition.return_type), **function.query_since}
        return [
            {'name': each.name, 'in': 'query', 'schema': types.query_schema(each.datatype)}
            for each in definition.arguments
            if since.get(each.name, 1) <= self._minor
        ]

    def body(self, function):
        """Return the schema of the body of a route, and whether it is required; None if the route has no body."""
        datatype = function.definition.body_type
        return None if datatype is None else (self._components.schema(datatype), not function.has_optional_body)

    def responses(self, function):
        """Return the successful responses of a route: {status: {content type: schema}}."""
        schemas = [self._components.schema(each) for each in function.return_types]
        content = {rendering.CONTENT_TYPE: schemas[0] if len(schemas) == 1 else {'anyOf': schemas}} if schemas else {}
        if function.has_streams:
            content[expose.EVENTS] = {'type': 'string'}
        return {status: {} if status == 204 else content for status in function.statuses}
