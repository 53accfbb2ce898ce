"""The JSON fields that may contain secrets, and their masked texts.

Each write of such a field also stores the masked text in another column. Masking at each read would be too slow: a
large document takes half a second, and a list may have a thousand nodes.
"""

from collections.abc import Iterable
from typing import Any

import orjson
import sqlalchemy as sa

from ironic_traits import masks
from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.resources import RESOURCES

#: {table: {field: policy rule that allows the caller to see it unmasked, or NOBODY}}.
RULES = {each.name: each.secrets for each in RESOURCES if each.secrets}
#: Shown if a row has no masked text. Only another program can have written such a row.
_NOT_MASKED = '{"content": "** Not shown: its secrets have not been masked. **"}'


def with_masks(table: sa.Table, values: Values) -> Values:
    """Return the values of an INSERT or UPDATE together with the masked texts of its secret fields.

    :param values: {column: value}.
    :returns: {column: value}.
    """
    fields = RULES.get(table.name, {}).keys() & values.keys()
    return values | {f'{field}_masked': _text(field, values[field]) for field in fields}


def is_mask(column: sa.Column[Any]) -> bool:
    """Whether a column holds the masked text of another column. Such a column is not a field of the API."""
    return column.name.removesuffix('_masked') in RULES.get(column.table.name, {}) and column.name.endswith('_masked')


def masked(context: Context, table: sa.Table, fields: Iterable[str]) -> frozenset[str]:
    """Return the fields that the caller may see only with masked secrets."""
    rules = RULES.get(table.name, {})
    return frozenset(name for name in fields if name in rules and not context.sees_secrets(rules[name]))


def column(table: sa.Table, field: str, is_masked: bool) -> sa.Label[str]:
    """Return a column that selects a JSON field as text.

    :param field: name of the field.
    :param is_masked: whether to select the text with the secrets masked.
    """
    if is_masked:
        return sa.func.coalesce(table.c[f'{field}_masked'], _NOT_MASKED).label(field)
    return sa.type_coerce(table.c[field], sa.Text).label(field)


def _text(field: str, document: Any) -> str:
    if field == 'steps':
        steps = [step | {'args': masks.masked(step['args'])} for step in document]
        return orjson.dumps(steps).decode()
    return orjson.dumps(masks.masked(document, masks.INSTANCE_INFO if field == 'instance_info' else ())).decode()
