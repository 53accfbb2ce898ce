"""Config drives: what the system of an instance reads at its first start, on a disk with the label config-2.

A BMC fetches the disk from this service. It cannot authenticate itself, so the URL has a token: a digest of the drive.
Only who knows the drive, or the URL, knows the token.
"""

import base64
import gzip
import hmac
import io
import zlib
from collections.abc import Mapping
from typing import Any

import orjson
import pycdlib

from ironic_traits.redfish.boot_images import BadImage

#: Below it, the API serves config drives: /config_drives/{uuid of the node}/{token}.img
PREFIX = '/config_drives/'
#: Maximum number of bytes of a config drive, as in Ironic and nova.
_MOST = 64 * 2**20
#: Folders of the files, for systems of each age.
_VERSIONS = ('2012-08-10', 'latest')


def is_url(text: str) -> bool:
    """Whether the config drive of a node is a URL, and not the drive itself."""
    scheme, separator, _ = text.partition('://')
    return bool(separator) and scheme.isalpha()


def pack(document: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """Return the config drive of a JSON document, as Ironic builds it: an ISO image, with gzip, with base64.

    :param document: {'meta_data': …, 'network_data': …, 'user_data': …, 'vendor_data': …}; each may be missing.
    :param node: with ``uuid`` and ``name``, which the metadata get if they have none.
    :raises BadImage: the metadata are no object.
    """
    meta_data = document.get('meta_data') or {}
    if not isinstance(meta_data, dict):
        raise BadImage('meta_data of the config drive must be an object.')
    defaults = {'uuid': node['uuid']} | ({'name': node['name']} if node['name'] else {})
    user_data = document.get('user_data')
    files = {
        'meta_data.json': orjson.dumps(defaults | meta_data),
        'network_data.json': _json(document.get('network_data')),
        'user_data': user_data.encode() if isinstance(user_data, str) else _json(user_data),
        'vendor_data2.json': _json(document.get('vendor_data')),
    }
    return base64.b64encode(gzip.compress(_iso({name: content for name, content in files.items() if content}))).decode()


def _json(value: Any) -> bytes:
    return orjson.dumps(value) if value else b''


def _iso(files: Mapping[str, bytes]) -> bytes:
    """Return an ISO image with the files, {name: content}, for each of the versions."""
    image, written = pycdlib.PyCdlib(), io.BytesIO()
    image.new(interchange_level=3, vol_ident='config-2', joliet=3, rock_ridge='1.09')
    image.add_directory('/OPENSTACK', rr_name='openstack', joliet_path='/openstack')
    for number, version in enumerate(_VERSIONS):
        # The names without extensions are short, and only for systems that read no others.
        short, folder = f'/OPENSTACK/V{number}', f'/openstack/{version}'
        image.add_directory(short, rr_name=version, joliet_path=folder)
        for place, (name, content) in enumerate(files.items()):
            image.add_fp(
                io.BytesIO(content),
                len(content),
                f'{short}/FILE{place}.;1',
                rr_name=name,
                joliet_path=f'{folder}/{name}',
            )
    image.write_fp(written)
    image.close()
    return written.getvalue()


def unpack(text: str) -> bytes:
    """Return the disk of a config drive.

    :param text: the disk, with gzip, with base64.
    :raises BadImage: it is none.
    """
    unzip = zlib.decompressobj(wbits=31)
    try:
        disk = unzip.decompress(base64.b64decode(''.join(text.split()), validate=True), _MOST + 1)
    except (ValueError, zlib.error):
        disk = b''
    if len(disk) > _MOST:
        raise BadImage(f'The config drive has more than {_MOST >> 20} MiB.')
    if not disk or not unzip.eof:
        raise BadImage('The config drive must be a URL, or an image with gzip and base64.')
    return disk


def path(uuid: str, text: str) -> str:
    """Return the path at which the API serves the config drive of a node.

    :param uuid: of the node.
    :param text: as for ``unpack``.
    """
    return f'{PREFIX}{uuid}/{hmac.digest(text.encode(), uuid.encode(), "sha256").hex()}.img'
