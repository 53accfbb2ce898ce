"""The masking of secrets in JSON objects, in all places alike: driver_info, steps, differences of files."""

import re
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_utils import strutils

MASK = '******'
#: Keys of ``instance_info`` that hold secrets, which oslo.utils does not recognize by their names.
INSTANCE_INFO = ('configdrive', 'image_url')
#: What a key of a secret may contain, besides the words of oslo.utils. Keys are compared in lower case, without
#: underscores, dashes and blanks. oslo.utils does not mask an object below such a key.
_WORDS = (
    'apikey', 'accesskey', 'authkey', 'privkey', 'privatekey', 'cryptokey', 'encryptionkey', 'keycontents',
    'credential', 'passcode', 'passphrase', 'passwd', 'password', 'secret', 'snmpcommunity', 'token',
)  # fmt: skip
_DRIVE = re.compile(r'(config-2-)[0-9a-f]+', re.IGNORECASE)
_NO_SEPARATORS = str.maketrans('', '', '_- ')


def masked(document: Mapping[str, Any], also: Iterable[str] = ()) -> dict[str, Any]:
    """Return a JSON object with its secrets replaced by ``MASK``, in nested objects and lists, too.

    :param also: further keys of the object itself that are secrets, such as ``INSTANCE_INFO``.
    """
    result = strutils.mask_dict_password({key: _value(key, value) for key, value in document.items()}, MASK)
    return result | {key: MASK for key in also if key in result}


def tokens(text: str) -> str:
    """Return a text with masks for the tokens of config drives (``redfish.config_drives``)."""
    return _DRIVE.sub(rf'\1{MASK}', text)


def url(text: str) -> str:
    """Return a URL with masks for what may be a secret: the user with the password, tokens, and the query."""
    try:
        parts = urllib.parse.urlsplit(text)
    except ValueError:
        return MASK
    if '@' in text and '@' not in parts.netloc:
        # Such as a path of a file server.
        return MASK
    user, at, host = parts.netloc.rpartition('@')
    masked_parts = parts._replace(
        path=tokens(parts.path),
        netloc=f'{MASK if user else ""}{at}{host}',
        query=MASK if parts.query else '',
        fragment=MASK if parts.fragment else '',
    )
    return urllib.parse.urlunsplit(masked_parts)


def _value(key: Any, value: Any) -> Any:
    if _is_secret(key) and value is not None and not isinstance(value, bool):
        return MASK
    if isinstance(value, Mapping):
        return {name: _value(name, each) for name, each in value.items()}
    return [_value(None, each) for each in value] if isinstance(value, list) else value


def _is_secret(key: Any) -> bool:
    if not isinstance(key, str):
        return False
    plain = key.lower().translate(_NO_SEPARATORS)
    return any(word in plain for word in _WORDS)
