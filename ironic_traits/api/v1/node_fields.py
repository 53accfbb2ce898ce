"""The fields of a node in a response: which a request selects, and how each is shown."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from ironic_traits import failures, spelling
from ironic_traits.api.v1 import trait_sources
from ironic_traits.context import Context
from ironic_traits.inventory.nodes.node_columns import JSON_FIELDS
from ironic_traits.resources import additions
from ironic_traits.resources.nodes import NODES

#: The minor version that brought ``fields``.
FIELDS_SINCE = 8


def all_fields(context: Context) -> tuple[str, ...]:
    """Return the names of all fields of a node at the version of the request."""
    return _shown(context.minor, context.has_additions, NODES.details)


def listed_fields(context: Context) -> tuple[str, ...]:
    """Return the names of the fields of a node in a list at the version of the request."""
    return _shown(context.minor, context.has_additions, NODES.listed)


def selected(context: Context, lists: list[list[str]]) -> tuple[str, ...]:
    """Return the names of the fields that a request selects, without duplicates.

    :param lists: lists of names, one for each ``fields`` in the query.
    :raises failures.VersionTooLow: ``fields``, or one of the fields, needs a later version.
    :raises failures.InvalidInput: a name is not that of a field, or there are no names.
    """
    context.needs(FIELDS_SINCE, "the argument 'fields'")
    names = tuple(dict.fromkeys(name for names in lists for name in names))
    for name in names:
        if name not in NODES or not NODES[name].is_selectable:
            hint = spelling.hint(name, all_fields(context))
            raise failures.InvalidInput(reason=f'Field {name} is not a valid field.{hint}')
        check(context, name)
    if not names:
        raise failures.InvalidInput(reason="The argument 'fields' does not name any field.")
    return names


def check(context: Context, name: str) -> None:
    """Raise VersionTooLow unless the version of the request has a field.

    :raises failures.VersionTooLow: the field needs a later version.
    """
    context.needs(NODES.since.get(name, 1), f"the field '{name}'")


def presenter(
    context: Context, fields: Sequence[str], links: bool | str = False
) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Return a function that turns a row into a node for the response.

    Everything that depends only on the request is computed once, not for each row.

    :param fields: the names of the columns of the row, in their order.
    :param links: which links the node has: to itself ('node'), also to the resources below it ('all'), or none (False).
    """
    converters = [(name, _converter(context, name)) for name in fields]
    members = [name for name, since in NODES.links.items() if context.has(since)] if links == 'all' else []

    # Clients of Ironic do not know the field, which most inventories do not use.
    has_origin = links == 'all' and 'origin' in fields

    def show(row: Sequence[Any]) -> dict[str, Any]:
        node = {
            name: convert(value) if convert else value for (name, convert), value in zip(converters, row, strict=True)
        }
        if has_origin and node['origin'] is None:
            del node['origin']
        if links:
            uuid = node['uuid']
            node['links'] = context.links('nodes', uuid)
            for name in members:
                node[name] = context.links('nodes', uuid, name)
        return node

    return show


@functools.lru_cache
def _shown(minor: int, has_additions: bool, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if additions.has(NODES[name].since, minor, has_additions))


def _converter(context: Context, name: str) -> Callable[[Any], Any] | None:
    if name == 'provision_state':
        return _state_converter(context.minor)
    return _CONVERTERS.get(name)


def _state_converter(minor: int) -> Callable[[str], str | None] | None:
    """Return a function that replaces provision states which a version does not have; None if it has all of them."""
    replacements: dict[str, str | None] = {}
    if minor < 2:
        replacements['available'] = None
    if minor < 39:
        replacements['inspect wait'] = 'inspecting'
    return (lambda state: replacements.get(state, state)) if replacements else None


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    # The database has JSON text, which goes into the response unchanged.
    **dict.fromkeys(JSON_FIELDS, orjson.Fragment),
    'trait_sources': trait_sources.document,
}
