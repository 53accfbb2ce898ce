"""Uuids and names of nodes in requests."""

import re

from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.inventory.core.node_names import PATTERN, RESERVED
from ironic_traits.uuids import canonical, is_canonical

#: The minor version that brought names of nodes.
NAMES_SINCE = 5
#: A host name, which names had to be before version 1.10.
_HOST_NAME = re.compile(
    r'(?=.{1,255}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*'
)


def ident(context: Context, text: str) -> str:
    """Return the uuid (in lower case, with dashes) or the name of a node in a path.

    :raises failures.InvalidIdent: the text can be neither.
    :raises failures.NodeNotFound: it is a name, and the version of the request does not have names.
    """
    if is_canonical(text):
        return text
    if uuidutils.is_uuid_like(text):
        return canonical(text)
    if not is_ident(text):
        raise failures.InvalidIdent(ident=text)
    if context.minor < NAMES_SINCE:
        raise failures.NodeNotFound(node=text)
    return text


def is_ident(text: str) -> bool:
    """Whether a text can be a uuid or a name, at any version."""
    return bool(PATTERN.fullmatch(text))


def is_name(context: Context, text: str) -> bool:
    """Whether a text can be a name, at the version of the request."""
    valid = PATTERN if context.minor >= 10 else _HOST_NAME
    return bool(valid.fullmatch(text)) and not uuidutils.is_uuid_like(text)


def check_name(context: Context, name: str, what: str = 'a node') -> None:
    """Raise InvalidInput unless the name is allowed for a node, or for what is named like one.

    :raises failures.InvalidInput: it is not allowed.
    """
    if not is_name(context, name):
        raise failures.InvalidInput(
            reason=f"Invalid name '{name}' for {what}: a name has 1 to 255 letters, digits, '-', '.', '_' and '~' "
            '(before version 1.10, it is a host name), and is not a uuid.'
        )
    if name in RESERVED:
        raise failures.InvalidInput(
            reason=f'The word "{name}" is reserved and can not be used as a node name. '
            f'Reserved words are: {", ".join(RESERVED)}.'
        )
