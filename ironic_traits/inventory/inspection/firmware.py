"""The firmware of nodes, as their BMCs list it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.inventory.core import node_filters
from ironic_traits.matching.facts import object_of, objects_of, text_of

#: Maximum number of the rows that ``count`` returns. Data of inspections is not trusted.
MAX_ROWS = 10_000
#: Maximum length of a text, in characters.
_MAX_TEXT = 255


def of_document(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the firmware in the data of an inspection, in a form that is the same for equal machines.

    :param document: {'inventory': {…}, 'plugin_data': {…}}.
    :returns: [vendor, model, [[name, version], …]]; None if the data has no firmware.
    """
    listed = objects_of(object_of(object_of(document.get('plugin_data')).get('redfish')).get('firmware'))
    versions = {(_text(each, 'name'), _text(each, 'version')) for each in listed}
    named = sorted(pair for pair in versions if all(pair))
    system = object_of(object_of(document.get('inventory')).get('system_vendor'))
    return [_text(system, 'manufacturer'), _text(system, 'product_name'), named] if named else None


def _text(document: Mapping[str, Any], key: str) -> str:
    return text_of(document.get(key))[:_MAX_TEXT]


def count(context: Context, grant: Grant) -> list[dict[str, Any]]:
    """Count the nodes that the caller may see by their firmware.

    :returns: [{'vendor', 'model', 'name', 'version', 'nodes'}, …], sorted; if there are more than MAX_ROWS, those with
        the most nodes.
    """
    firmware = tables.node_inventories.c.firmware
    statement = sa.select(firmware, sa.func.count()).join(tables.nodes).group_by(firmware)
    numbers: Counter[tuple[str, ...]] = Counter()
    with context.read() as connection:
        visible = node_filters.visible(context, grant)
        for (vendor, model, versions), nodes in connection.execute(statement.where(firmware.is_not(None), *visible)):
            for name, version in versions:
                numbers[vendor, model, name, version] += nodes
    names = ('vendor', 'model', 'name', 'version', 'nodes')
    return [dict(zip(names, (*key, nodes), strict=True)) for key, nodes in sorted(numbers.most_common(MAX_ROWS))]
