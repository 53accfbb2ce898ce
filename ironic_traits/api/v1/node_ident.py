"""How a node is named in a request."""

import re

from oslo_utils import uuidutils

from ironic_traits import failures

#: The unreserved characters of RFC 3986.
_NAME = re.compile(r'[A-Za-z0-9\-._~]{1,255}')
#: Labels of a host name, before version 1.10.
_HOST_NAME = re.compile(
    r'(?=.{1,255}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*'
)
#: Words that stand in paths where a name could.
RESERVED = ('maintenance', 'management', 'states', 'vendor_passthru', 'detail', 'validate')


def ident(context, text):
    """Give the uuid (in lower case, with dashes) or the name that stands in a path.

    :raises failures.InvalidIdent: it can be neither.
    :raises failures.NodeNotFound: it is a name, which this version does not know.
    """
    if uuidutils.is_uuid_like(text):
        return str(uuidutils.uuid.UUID(text))
    if not is_ident(text):
        raise failures.InvalidIdent(ident=text)
    if context.minor < 5:
        raise failures.NodeNotFound(node=text)
    return text


def is_ident(text):
    """Tell whether a text can be a uuid or a name, at any version."""
    return bool(_NAME.fullmatch(text))


def is_name(context, text):
    """Tell whether a text can be a name, at the request's version."""
    valid = _NAME if context.minor >= 10 else _HOST_NAME
    return bool(valid.fullmatch(text)) and not uuidutils.is_uuid_like(text)


def check_name(context, name):
    """Do nothing when a node may have this name.

    :raises failures.InvalidInput: it may not.
    """
    if not is_name(context, name):
        raise failures.InvalidInput(
            reason=f"Invalid name '{name}' for a node: 1 to 255 letters, digits, '-', '.', '_' and '~' are allowed "
            '(before version 1.10 a host name), but no uuid.'
        )
    if name in RESERVED:
        raise failures.InvalidInput(
            reason=f'The word "{name}" is reserved and can not be used as a node name. '
            f'Reserved words are: {", ".join(RESERVED)}.'
        )
