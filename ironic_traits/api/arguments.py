"""The filters of lists as query parameters, and as keys of bodies: their WSME types and versions."""

from collections.abc import Container
from typing import Any

from ironic_traits.api import types
from ironic_traits.context import Context
from ironic_traits.resources.fields import Argument, Resource
from ironic_traits.resources.nodes import NODES

_TYPES = {
    Argument.BOOLEAN: types.BOOLEAN,
    Argument.CONDUCTOR_GROUP: types.ConductorGroup(),
    Argument.FAULT: types.Fault(),
    # SQLite limits LIKE patterns to about ten times this length.
    Argument.LONG_TEXT: types.Text(maximum=4096),
    Argument.MAC: types.Mac(),
    Argument.OPTIONAL_FIELDS: types.FieldNames(NODES.optional),
    Argument.SOURCE: types.Source(),
    Argument.TEXT: types.TEXT,
    Argument.TEXTS: types.Texts(),
    Argument.TRAITS: [types.TraitNames()],
    Argument.UUID: types.UUID,
}


def query(resource: Resource) -> dict[str, Any]:
    """Return the query parameters that filter a list: {parameter: type}."""
    return {each.argument: _TYPES[each.type] for each in resource.list_filters.values()}


def body(resource: Resource) -> dict[str, Any]:
    """Return the filters that requests for nodes have: {key of the body: type}."""
    filters = [each for each in resource.list_filters.values() if each.in_requests]
    return {each.name: types.TEXT_255 if each.type is Argument.TEXT else _TYPES[each.type] for each in filters}


def since(resource: Resource) -> dict[str, int]:
    """Return the minor versions that brought the filters: {query parameter, or key of a body: minor version}."""
    filters = resource.list_filters.values()
    return {name: each.since or 0 for each in filters for name in (each.argument, each.name)}


def check_versions(context: Context, resource: Resource, names: Container[str]) -> None:
    """Raise VersionTooLow unless the version of the request has all these filters.

    :param names: names of filters, and of other query parameters, which are ignored.
    :raises failures.VersionTooLow: a filter needs a later version.
    """
    for name, each in resource.list_filters.items():
        if name in names:
            context.needs(each.since or 0, f"the filter '{each.argument}'")
