"""The fields of nodes that inspection rules see: as the API shows them, and with secrets for sensitive rules."""

import datetime
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import Json
from ironic_traits.inventory.core import secrets
from ironic_traits.matching.facts import NodeFacts
from ironic_traits.resources.nodes import NODES

#: The fields that rules may see. Traits are not among them: the result of a rule must not depend on earlier results.
_COLUMNS = {field.name: tables.nodes.c[field.name] for field in NODES.fields if field.is_column}
_SECRET = frozenset(secrets.RULES['nodes'])


class Fields(NamedTuple):
    """The fields of a node that rules see.

    :ivar shown: {field: value}, with the secrets masked.
    :ivar unmasked: {field: value} of the fields with masked secrets, with the secrets.
    """

    shown: dict[str, Any]
    unmasked: dict[str, Any]

    def with_data(self, document: Mapping[str, Any]) -> NodeFacts:
        """Return the facts about the node.

        :param document: data of its inspection: {'inventory': {…}, 'plugin_data': {…}}.
        """
        return NodeFacts(document['inventory'], document.get('plugin_data') or {}, self.shown, self.unmasked)


def read_all(connection: sa.Connection, node_ids: Collection[int], fields: Collection[str]) -> dict[int, Fields]:
    """Return the fields of nodes that rules see.

    :param fields: names of the fields to read; unknown ones are ignored.
    :returns: {node id: Fields}.
    """
    names = [name for name in _COLUMNS if name in fields]
    shown = [
        secrets.column(tables.nodes, name, is_masked=True) if name in _SECRET else _COLUMNS[name] for name in names
    ]
    unmasked = [_COLUMNS[name].label(f'{name}_unmasked') for name in names if name in _SECRET]
    statement = sa.select(tables.nodes.c.id.label('node_id'), *shown, *unmasked)
    rows = connection.execute(statement.where(tables.nodes.c.id.in_(node_ids)))
    return {row.node_id: _fields(dict(row._mapping)) for row in rows}


def _fields(row: Mapping[str, Any]) -> Fields:
    node: dict[str, Any] = {}
    unmasked = {}
    for name, value in row.items():
        if name.endswith('_unmasked'):
            unmasked[name.removesuffix('_unmasked')] = value
        elif name in _SECRET:
            node[name] = orjson.loads(value)
        elif name != 'node_id':
            node[name] = _shown(name, value)
    return Fields(node, unmasked)


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return f'{value.isoformat(timespec="microseconds")}+00:00'
    return {} if value is None and isinstance(_COLUMNS[name].type, Json) else value
