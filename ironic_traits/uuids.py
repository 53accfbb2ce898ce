"""The form in which uuids are stored, and in which both APIs show them: lower case, with dashes."""

import re
import uuid
from typing import Any

from oslo_utils import uuidutils

_CANONICAL = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def is_canonical(text: str) -> bool:
    """Whether a text is a uuid in this form. Nearly all uuids are, and this check is quick."""
    return bool(_CANONICAL.fullmatch(text))


def canonical(value: Any) -> Any:
    """Return a uuid of any notation (with braces, without dashes, in upper case, …) in this form.

    :returns: any other value unchanged, such as the name of a node.
    """
    return str(uuid.UUID(value)) if uuidutils.is_uuid_like(value) else value
