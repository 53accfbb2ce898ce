"""Config drives: what the system of an instance reads at its first start, on a disk with the label config-2.

A BMC fetches the disk from this service. It cannot authenticate itself, so the URL has a token: a digest of the drive.
Only who knows the drive, or the URL, knows the token.
"""

import base64
import functools
import gzip
import hmac
import io
import threading
import zlib
from collections.abc import Mapping
from typing import Any

import orjson
import pycdlib

from ironic_traits.redfish.boot_images import BadImage

#: Below it, the API serves config drives: /config_drives/{uuid of the node}/config-2-{token}.img. By these names,
#: ``masks`` knows the tokens.
PREFIX = '/config_drives/'
#: Maximum number of bytes of a config drive, as in Ironic and nova.
_MOST = 64 * 2**20
_OBJECT = {dict: 'an object'}
#: {part of a document: {type: what it is called}}.
_PARTS: dict[str, dict[Any, str]] = {
    'meta_data': _OBJECT,
    'network_data': _OBJECT,
    'user_data': {str: 'a text', dict: 'an object', list: 'a list'},
    'vendor_data': _OBJECT,
}
_UNPACKING = threading.Lock()
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
    :raises BadImage: a part has another type than these.
    """
    for name, types in _PARTS.items():
        if not isinstance(document.get(name), (*types, type(None))):
            raise BadImage(f'{name} of the config drive must be {" or ".join(types.values())}.')
    meta_data, user_data = document.get('meta_data') or {}, document.get('user_data')
    defaults = {'uuid': node['uuid']} | ({'name': node['name']} if node['name'] else {})
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
    # One at a time: requests for the same one share it, and large ones leave time for other requests.
    with _UNPACKING:
        return _unpacked(text)


# A BMC may ask for a thousand parts of it.
@functools.lru_cache(maxsize=1)
def _unpacked(text: str) -> bytes:
    try:
        zipped = io.BytesIO(base64.b64decode(''.join(text.split()), validate=True))
        disk = gzip.GzipFile(fileobj=zipped).read(_MOST + 1)
    except (ValueError, OSError, EOFError, zlib.error):
        disk = b''
    if not disk:
        raise BadImage('The config drive must be a URL, or an image with gzip and base64.')
    if len(disk) > _MOST:
        raise BadImage(f'The config drive has more than {_MOST >> 20} MiB.')
    return disk


def path(uuid: str, text: str) -> str:
    """Return the path at which the API serves the config drive of a node.

    :param uuid: of the node.
    :param text: as for ``unpack``.
    """
    return f'{PREFIX}{uuid}/config-2-{hmac.digest(text.encode(), uuid.encode(), "sha256").hex()}.img'
