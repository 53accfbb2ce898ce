"""Names of nodes."""

import re

from oslo_utils import uuidutils

#: The unreserved characters of RFC 3986.
PATTERN = re.compile(r'[A-Za-z0-9\-._~]{1,255}')
#: Words that cannot be names, because they are path segments below /v1/nodes.
RESERVED = ('maintenance', 'management', 'states', 'vendor_passthru', 'detail', 'validate')


def is_name(text: str) -> bool:
    """Whether a text can be the name of a node."""
    return bool(PATTERN.fullmatch(text)) and not uuidutils.is_uuid_like(text) and text not in RESERVED
