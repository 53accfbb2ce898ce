"""The config drives of nodes that boot an image: their BMCs fetch them from the API."""

import hmac

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.redfish import config_drives


def get(context: Context, path: str) -> bytes:
    """Return the disk that a path names, which is that of ``config_drives.path``.

    :raises failures.AddressNotFound: no instance has it, or not any more.
    """
    uuid = path.removeprefix(config_drives.PREFIX).partition('/')[0]
    statement = sa.select(tables.nodes.c.configdrive).where(tables.nodes.c.uuid == uuid)
    with context.read() as connection:
        text = connection.scalar(statement) if uuidutils.is_uuid_like(uuid) else None
    if not text or not hmac.compare_digest(config_drives.path(uuid, text).encode(), path.encode()):
        raise failures.AddressNotFound(hint='')
    return config_drives.unpack(text)
