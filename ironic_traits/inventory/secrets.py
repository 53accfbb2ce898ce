"""The fields that may have secrets in them, and what is shown of them.

The text with the secrets masked is stored beside the field whenever that is written.  To mask a large document takes
half a second, and a list has a thousand nodes.
"""

import orjson
import sqlalchemy as sa
from oslo_utils import strutils

from ironic_traits.db.models import nodes, volume_targets

MASK = '******'
#: The policy rules that allow to see the fields of each table as they are.
RULES = {
    nodes.name: {'driver_info': 'show_password', 'instance_info': 'show_instance_secrets'},
    volume_targets.name: {'properties': 'show_password'},
}
#: What is shown where no masked text is stored: only other programs write such rows.
_NOT_MASKED = '{"content": "** Not shown: its secrets have not been masked. **"}'


def with_masks(table, values):
    """Return the values of an INSERT or an UPDATE with the masked texts that belong to them.

    :param values: {column: value}.
    """
    fields = RULES.get(table.name, {}).keys() & values.keys()
    return values | {f'{field}_masked': _text(field, values[field]) for field in fields}


def is_mask(column):
    """Whether a column has the masked text of another one, which is no field of its own."""
    return column.name.removesuffix('_masked') in RULES.get(column.table.name, {}) and column.name.endswith('_masked')


def masked(context, table, fields):
    """Return those of some fields of which the caller may see the masked text only, as a frozenset."""
    rules = RULES.get(table.name, {})
    return frozenset(name for name in fields if name in rules and not context.sees_secrets(rules[name]))


def column(table, field, is_masked):
    """Return the column that shows a JSON field, as text.

    :param is_masked: whether its secrets are masked.
    """
    if is_masked:
        return sa.func.coalesce(table.c[f'{field}_masked'], _NOT_MASKED).label(field)
    return sa.type_coerce(table.c[field], sa.Text).label(field)


def _text(field, document):
    masked = strutils.mask_dict_password(document, MASK)
    if field == 'instance_info':
        masked |= {key: MASK for key in ('configdrive', 'image_url') if key in masked}
    return orjson.dumps(masked).decode()
