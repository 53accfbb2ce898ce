"""The operations of the Placement API."""

from typing import Any

from ironic_traits.api import rendering
from ironic_traits.api.description.operations import Operation
from ironic_traits.api.description.types import Schema
from ironic_traits.api.placement.expose import PlacementRoute
from ironic_traits.api.placement.validation import at


class Placement:
    """What the document of a version says about the Placement API.

    :ivar schemas: the schemas that the operations refer to; there are none.
    """

    def __init__(self, minor: int) -> None:
        self._minor = minor
        self.schemas: dict[str, dict] = {}

    def query(self, operation: Operation[PlacementRoute]) -> list[Schema]:
        """Return the query parameters of an Operation, a list."""
        query = operation.route.query
        schema = _portable(at(query, self._minor)) if query else {'properties': {}, 'required': []}
        parameters = [
            {'name': name, 'in': 'query', 'schema': each, 'required': name in schema['required']}
            for name, each in schema['properties'].items()
        ]
        if 'patternProperties' in schema:
            # The parameters whose names have suffixes: with this style, each key of the object is a parameter.
            groups = {key: schema[key] for key in ('type', 'patternProperties', 'additionalProperties')}
            parameters.append({'name': 'groups', 'in': 'query', 'schema': groups, 'style': 'form', 'explode': True})
        return parameters

    def body(self, route: PlacementRoute) -> tuple[Schema, bool] | None:
        """Return the schema of the body of a route, and True: it is required. None if the route has no body."""
        schema = at(route.body, self._minor) if route.body else None
        return schema and (_portable(schema), True)

    def responses(self, route: PlacementRoute) -> dict[int, dict[str, Schema]]:
        """Return the successful responses of a route: {status: {content type: schema}}."""
        by_status = at(route.returns, self._minor)
        return {
            status: {rendering.CONTENT_TYPE: _portable(schema)} if schema else {}
            for status, schema in by_status.items()
        }


def _portable(schema: Any) -> Any:
    r"""Return a JSON schema with patterns of ECMA 262, where $ means what \Z means in Python."""
    if isinstance(schema, list):
        return [_portable(each) for each in schema]
    if isinstance(schema, dict):
        return {_portable(key): _portable(value) for key, value in schema.items()}
    return schema.replace(r'\Z', '$') if isinstance(schema, str) else schema
