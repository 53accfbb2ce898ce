"""Copies of the fields with secrets, with the secrets masked, for responses

Revision ID: 0008
Revises: 0007
"""

import orjson
import sqlalchemy as sa
from alembic import op
from oslo_utils import strutils

from ironic_traits.db.statements.types import long_text

revision = '0008'
down_revision = '0007'

_MASK = '******'
#: Replaces a document that is nested too deep to be masked. Earlier releases accepted such documents.
_TOO_DEEP = '{"content": "** Not shown: nested too deep. **"}'
#: Number of rows per statement.
_BATCH = 500
_FIELDS = (('nodes', 'driver_info'), ('nodes', 'instance_info'), ('volume_targets', 'properties'))


def upgrade():
    for table, field in _FIELDS:
        op.add_column(table, sa.Column(f'{field}_masked', long_text()))
    for table, field in _FIELDS:
        _fill(op.get_bind(), table, field)


def _fill(connection, name, field):
    table = sa.table(name, sa.column('id'), sa.column(field), sa.column(f'{field}_masked'))
    page = sa.select(table.c.id, table.c[field]).where(table.c.id > sa.bindparam('last')).order_by(table.c.id)
    write = sa.update(table).where(table.c.id == sa.bindparam('of')).values({f'{field}_masked': sa.bindparam('masked')})
    last = 0
    while rows := connection.execute(page.limit(_BATCH), {'last': last}).all():
        connection.execute(write, [{'of': row.id, 'masked': _masked(field, row[1])} for row in rows])
        last = rows[-1].id


def _masked(field, text):
    try:
        document = strutils.mask_dict_password(orjson.loads(text), _MASK)
        if field == 'instance_info':
            document |= {key: _MASK for key in ('configdrive', 'image_url') if key in document}
        return orjson.dumps(document).decode()
    except (RecursionError, TypeError, ValueError):
        return _TOO_DEEP
