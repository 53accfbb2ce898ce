"""The config drives of nodes that boot an image: their BMCs fetch them from the API."""

import hmac

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.redfish import config_drives
from ironic_traits.redfish.boot_images import BadImage


def get(context: Context, path: str) -> bytes:
    """Return the disk that a path names, which is that of ``config_drives.path``.

    :raises failures.AddressNotFound: no instance has it, or not any more.
    """
    uuid = path.removeprefix(config_drives.PREFIX).partition('/')[0]
    nodes = tables.nodes.c
    statement = sa.select(nodes.configdrive).where(nodes.uuid == uuid, nodes.deploy_interface == 'ramdisk')
    with context.read() as connection:
        text = connection.scalar(statement) if uuidutils.is_uuid_like(uuid) else None
    if not text or not hmac.compare_digest(config_drives.path(uuid, text).encode(), path.encode()):
        raise failures.AddressNotFound(hint='')
    try:
        return config_drives.unpack(text)
    except BadImage:
        # Such as a URL, which the BMC fetches from elsewhere.
        raise failures.AddressNotFound(hint='') from None
