"""The traits of a node at a past time: ?at= of /v1/nodes/{node}/traits"""

import datetime
from typing import Any

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.traits import past_traits


def document(context: Context, grant: Grant, at: datetime.datetime, detail: bool | None) -> dict[str, Any]:
    """Return the document with the traits of a node at a time.

    :param at: in UTC, without a time zone.
    :param detail: value of the query parameter, which cannot be combined with ``at``.
    """
    if detail:
        raise failures.InvalidInput(
            reason="'at' and 'detail' cannot be combined: the sources of the traits at a past time are not known."
        )
    return {'traits': past_traits.list_all(context, grant, at)}
