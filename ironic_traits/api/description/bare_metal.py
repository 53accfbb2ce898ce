"""The operations of the Bare Metal API."""

from ironic_traits.api import rendering
from ironic_traits.api.description import types
from ironic_traits.api.description.operations import Operation
from ironic_traits.api.description.types import Schema
from ironic_traits.api.expose import BareMetalRoute
from ironic_traits.api.responses import EVENTS
from ironic_traits.api.v1.node_fields import FIELDS_SINCE

#: Query parameters that may not be sent with detail=true.
_NOT_WITH_DETAIL = {'fields', 'at'}


class BareMetal:
    """What the document of a version says about the Bare Metal API."""

    def __init__(self, minor: int) -> None:
        self._minor = minor
        self._components = types.Components(minor)

    @property
    def schemas(self) -> dict[str, Schema]:
        """The schemas that the operations refer to: {name: JSON schema}."""
        return self._components.schemas

    def query(self, operation: Operation[BareMetalRoute]) -> list[Schema]:
        """Return the query parameters of an Operation, a list."""
        route = operation.route
        since = {'fields': FIELDS_SINCE, **types.query_since(next(iter(route.return_types), None)), **route.query_since}
        schemas = {
            name: types.query_schema(datatype)
            for name, datatype in route.query_types.items()
            if since.get(name, 1) <= self._minor
        }
        if operation.path.endswith('/detail'):
            # These lists have all fields, and refuse the parameter.
            schemas.pop('fields', None)
        others = schemas.keys() & _NOT_WITH_DETAIL if 'detail' in schemas else set()
        exclusive = {name: schemas.pop(name) for name in sorted({'detail', *others})} if others else {}
        parameters = [{'name': name, 'in': 'query', 'schema': schema} for name, schema in schemas.items()]
        return [*parameters, _either(exclusive)] if exclusive else parameters

    def body(self, route: BareMetalRoute) -> tuple[Schema, bool] | None:
        """Return the schema of the body of a route, and whether it is required; None if the route has no body."""
        body = route.typed_body
        return body and (self._components.schema(body.datatype), not body.optional)

    def responses(self, route: BareMetalRoute) -> dict[int, dict[str, Schema]]:
        """Return the successful responses of a route: {status: {content type: schema}}."""
        schemas = [self._components.schema(each) for each in route.return_types]
        content = {rendering.CONTENT_TYPE: schemas[0] if len(schemas) == 1 else {'anyOf': schemas}} if schemas else {}
        if route.streams:
            content[EVENTS] = {'type': 'string'}
        return {status: {} if status == 204 else content for status in route.success}


def _either(schemas: dict[str, Schema]) -> Schema:
    """Return the parameter that stands for ``detail`` and those that exclude it.

    With this style, each key of the object is a parameter of its own. Only an object can say what excludes what.

    :param schemas: {parameter: JSON schema}.
    """
    names = sorted(schemas.keys() - {'detail'})
    excluded = {'required': ['detail'], 'properties': {'detail': {'const': True}}}
    schema = {
        'type': 'object',
        'properties': schemas,
        'additionalProperties': False,
        'not': excluded | {'anyOf': [{'required': [name]} for name in names]},
    }
    description = f'detail=true excludes {" and ".join(names)}.'
    name = '_or_'.join(['detail', *names])
    return {'name': name, 'in': 'query', 'style': 'form', 'explode': True, 'description': description, 'schema': schema}
