"""The nodes that the body of a request selects, and the digest of a preview of what it does to them."""

import re
from collections.abc import Sequence
from typing import Any

import wsme.exc
import wsme.types

from ironic_traits import failures
from ironic_traits.api import arguments
from ironic_traits.api.v1 import node_filters, node_ident
from ironic_traits.context import Context
from ironic_traits.inventory.core.node_selection import Selection
from ironic_traits.matching.traits import Filter
from ironic_traits.resources.nodes import NODES

_FILTERS = arguments.query(NODES)
#: The filters that a query may have more than once.
_OF_TRAITS = {name for name, datatype in _FILTERS.items() if isinstance(datatype, list)}
_DIGEST = re.compile(r'[0-9a-f]{64}')


def parse(context: Context, fields: dict[str, Any]) -> Selection:
    """Return the nodes that the fields of a body select.

    :param fields: {field: value}, of which ``where`` (filters of nodes) or ``nodes`` (uuids and names) counts.
    :raises failures.Failure: a filter is invalid, or there is none.
    """
    if ('where' in fields) == ('nodes' in fields):
        raise failures.InvalidInput(
            reason="The request needs either 'where' (filters of nodes) or 'nodes' (a list of uuids and names)."
        )
    if 'nodes' in fields:
        idents = names(fields, 'nodes')
        if not idents:
            raise failures.InvalidInput(reason="'nodes' must name at least one node.")
        return Selection({}, Filter(), tuple(dict.fromkeys(node_ident.ident(context, ident) for ident in idents)))
    if unknown := fields['where'].keys() - _FILTERS.keys():
        raise failures.UnknownKeys(unknown, _FILTERS, "'where' has unknown filters")
    query = {name.replace('-', '_'): _filter(name, value) for name, value in fields['where'].items()}
    return Selection(*node_filters.parse(context, query))


def _filter(name: str, value: Any) -> Any:
    """Return the value of a filter in ``where``, as the same query parameter would have it."""
    datatype = _FILTERS[name]
    try:
        if value is None:
            raise ValueError('it may not be null')
        if name in _OF_TRAITS:
            return [datatype[0].validate(text) for text in _sets(value)]
        return wsme.types.validate_value(datatype, value)
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f"Invalid {name} in 'where': {error}") from error
    except wsme.exc.InvalidInput as error:
        raise failures.InvalidInput(reason=f"Invalid {name} in 'where': {error.msg}") from error


def _sets(value: Any) -> list[str]:
    """Return the sets of traits of a filter, each joined by commas: one for each time the query parameter is used.

    :param value: names joined by commas, a list of names, or a list of such lists.
    """
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        if all(isinstance(each, str) for each in value):
            return [_joined(value)]
        if all(isinstance(each, list) and each and all(isinstance(name, str) for name in each) for each in value):
            return [_joined(each) for each in value]
    raise ValueError(f'{value!r} is neither a string, nor a list of traits, nor a list of lists of traits')


def _joined(names: Sequence[str]) -> str:
    for name in names:
        if ',' in name:
            raise ValueError(f'{name!r} in a list has a comma')
    return ','.join(names)


def check_step(fields: dict[str, Any]) -> None:
    """Raise InvalidInput unless the fields of a body ask for a preview, or have the digest of one."""
    if ('digest' in fields) == bool(fields.get('preview')):
        raise failures.InvalidInput(
            reason="The request needs either 'preview' (true), or the 'digest' of a preview, which executes it."
        )
    if 'digest' in fields:
        check_digest(fields['digest'])


def check_digest(digest: str) -> None:
    """Raise InvalidInput unless a text can be the digest of a preview."""
    if not _DIGEST.fullmatch(digest):
        raise failures.InvalidInput(reason=f"'{digest}' is not the digest of a preview: 64 hexadecimal digits.")


def names(fields: dict[str, Any], key: str) -> list[Any]:
    """Return a list in the fields of a body; [] if they do not have it.

    :raises failures.InvalidInput: it has null.
    """
    values = fields.get(key, [])
    if None in values:
        raise failures.InvalidInput(reason=f"'{key}' must be a list without null.")
    return values
