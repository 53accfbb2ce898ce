"""What inspection rules see of nodes: their fields, as the API shows them, and the secrets for sensitive rules."""

import datetime
from collections.abc import Collection, Mapping
from typing import Any

import orjson
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.types import Json
from ironic_traits.inventory import secrets
from ironic_traits.matching.facts import Facts
from ironic_traits.resources.nodes import NODES

#: The fields that rules may see. Traits are none of them: what a rule adds must not depend on what it has added before.
_COLUMNS = {field.name: tables.nodes.c[field.name] for field in NODES.fields if field.is_column}
_SECRET = frozenset(secrets.RULES['nodes'])


def read_all(
    connection: sa.Connection, documents: Mapping[int, Mapping[str, Any]], fields: Collection[str]
) -> dict[int, Facts]:
    """Return the facts about nodes.

    :param documents: {node id: data of its inspection, as ``node_inventories`` has it}.
    :param fields: names of the fields of nodes to read; unknown ones are ignored.
    :returns: {node id: Facts}, without the nodes that do not exist.
    """
    names = [name for name in _COLUMNS if name in fields]
    shown = [
        secrets.column(tables.nodes, name, is_masked=True) if name in _SECRET else _COLUMNS[name] for name in names
    ]
    unmasked = [_COLUMNS[name].label(f'{name}_unmasked') for name in names if name in _SECRET]
    statement = sa.select(tables.nodes.c.id.label('node_id'), *shown, *unmasked)
    rows = connection.execute(statement.where(tables.nodes.c.id.in_(documents)))
    return {row.node_id: _facts(documents[row.node_id], dict(row._mapping)) for row in rows}


def _facts(document: Mapping[str, Any], row: Mapping[str, Any]) -> Facts:
    node: dict[str, Any] = {}
    unmasked = {}
    for name, value in row.items():
        if name.endswith('_unmasked'):
            unmasked[name.removesuffix('_unmasked')] = value
        elif name in _SECRET:
            node[name] = orjson.loads(value)
        elif name != 'node_id':
            node[name] = _shown(name, value)
    return Facts(document['inventory'], document.get('plugin_data') or {}, node, unmasked)


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return f'{value.isoformat(timespec="microseconds")}+00:00'
    return {} if value is None and isinstance(_COLUMNS[name].type, Json) else value
