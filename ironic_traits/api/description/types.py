"""JSON schemas of WSME types at a version."""

import collections
import datetime
import functools
from typing import Any

import wsme.types

from ironic_traits.api import arguments
from ironic_traits.api.description.operations import operations
from ironic_traits.api.expose import BareMetalRoute
from ironic_traits.resources.fields import Resource

#: A JSON schema, or a part of a document.
Schema = dict[str, Any]

_PLAIN: dict[type, Schema] = {
    str: {'type': 'string'},
    int: {'type': 'integer'},
    float: {'type': 'number'},
    bool: {'type': 'boolean'},
    datetime.datetime: {'type': 'string', 'format': 'date-time'},
}


class Components:
    """The schemas of the types with attributes, to which other schemas refer.

    :ivar schemas: {name: JSON schema}.
    """

    def __init__(self, minor: int) -> None:
        self._minor = minor
        self.schemas: dict[str, Schema] = {}

    def schema(self, datatype: Any) -> Schema:
        """Return the schema of a type, and add the types that it refers to."""
        if wsme.types.isarray(datatype):
            return {'type': 'array', 'items': self.schema(datatype.item_type)}
        if wsme.types.isdict(datatype):
            return {'type': 'object', 'additionalProperties': self.schema(datatype.value_type)}
        if isinstance(datatype, wsme.types.Enum):
            return {'type': 'string', 'enum': sorted(datatype.values)}
        if wsme.types.isusertype(datatype):
            return datatype.schema
        if wsme.types.iscomplex(datatype):
            return self._reference(datatype)
        return _PLAIN[datatype]

    def _reference(self, datatype: Any) -> Schema:
        name = _names()[datatype]
        if name not in self.schemas:
            # First, because types may refer to each other.
            self.schemas[name] = {}
            self.schemas[name] = self._object(datatype)
        return {'$ref': f'#/components/schemas/{name}'}

    def _object(self, datatype: Any) -> Schema:
        attributes = [each for each in wsme.types.list_attributes(datatype) if self._has(datatype, each.name)]
        schema = {
            'type': 'object',
            'description': datatype.__doc__ and datatype.__doc__.partition('\n')[0],
            'properties': {each.name: self._attribute(each) for each in attributes},
            'required': [each.name for each in attributes if each.mandatory],
            'additionalProperties': False,
        }
        return {key: value for key, value in schema.items() if value not in (None, [])}

    def _has(self, datatype: Any, name: str) -> bool:
        return since(datatype).get(name, 1) <= self._minor

    def _attribute(self, attribute: Any) -> Schema:
        schema = self.schema(attribute.datatype)
        return schema if attribute.mandatory or _is_list(attribute.datatype) else _or_null(schema)


def query_schema(datatype: Any) -> Schema:
    """Return the schema of a query parameter of a type; that of a list can be repeated."""
    if wsme.types.isarray(datatype):
        return {'type': 'array', 'items': query_schema(datatype.item_type)}
    return getattr(datatype, 'query_schema', None) or Components(0).schema(datatype)


@functools.cache
def since(datatype: Any) -> dict[str, int]:
    """Return the minor versions that brought attributes of a type: {name: minor version}.

    Other attributes came with the route.
    """
    resource = datatype._resource
    if resource is None:
        return datatype._since
    return {**resource.since, **resource.links, 'links': resource.served_since, **datatype._since}


def query_since(datatype: Any) -> dict[str, int]:
    """Return the minor versions that brought query parameters of a list or of one item: {parameter: minor version}.

    :param datatype: type of the response; None if it has no body.
    """
    resource = _resource(datatype)
    if resource is None:
        return {}
    detail = {} if resource.detail_since is None else {'detail': resource.detail_since}
    return {**arguments.since(resource), **detail}


def _resource(datatype: Any) -> Resource | None:
    """Return the table of the resource that a response has items of; None if there is none."""
    if not wsme.types.iscomplex(datatype):
        return None
    attributes = [each.datatype for each in wsme.types.list_attributes(datatype)]
    types = [datatype, *(each.item_type for each in attributes if _is_list(each))]
    return next((each._resource for each in types if each._resource is not None), None)


def _is_list(datatype: Any) -> bool:
    """Whether a type is a list of objects, which is never null."""
    return wsme.types.isarray(datatype) and wsme.types.iscomplex(datatype.item_type)


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get('type'), str) and 'enum' not in schema:
        return schema | {'type': [schema['type'], 'null']}
    return {'anyOf': [schema, {'type': 'null'}]} if schema else schema


@functools.cache
def _names() -> dict[type, str]:
    """Return the names of all types with attributes: {type: name}. Types with the same name get that of the module."""
    types: set[type] = set()
    routes = (each.route for each in operations())
    for route in (each for each in routes if isinstance(each, BareMetalRoute)):
        for datatype in (*route.return_types, route.typed_body and route.typed_body.datatype):
            _collect(datatype, types)
    counts = collections.Counter(each.__name__ for each in types)
    return {each: each.__name__ if counts[each.__name__] == 1 else _long_name(each) for each in types}


def _collect(datatype: Any, types: set[type]) -> None:
    """Add a type, and the types that it refers to, to a set of types with attributes."""
    if wsme.types.isarray(datatype):
        _collect(datatype.item_type, types)
    elif wsme.types.isdict(datatype):
        _collect(datatype.value_type, types)
    elif datatype is not None and wsme.types.iscomplex(datatype) and datatype not in types:
        types.add(datatype)
        for attribute in wsme.types.list_attributes(datatype):
            _collect(attribute.datatype, types)


def _long_name(datatype: type) -> str:
    module = datatype.__module__.rpartition('.')[2]
    return ''.join(word.capitalize() for word in module.split('_')) + datatype.__name__
