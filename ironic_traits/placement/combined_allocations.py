"""Allocations that a process writes together with those of other requests."""

import functools
from collections.abc import Sequence

from ironic_traits.context import Context
from ironic_traits.inventory.holds.combined import Ticket
from ironic_traits.placement.allocations import replace, replace_some
from ironic_traits.placement.consumers import Demand


def replace_combined(context: Context, demands: Sequence[Demand]) -> None:
    """Replace the allocations of consumers, as ``replace``.

    A new consumer of one provider perhaps gets its allocations together with other requests.
    """
    alone = functools.partial(replace, context, demands)
    if len(demands) != 1 or demands[0].generation is not None or len(demands[0].resources) != 1:
        return alone()
    # Requests for the same provider take their turns: the first one may leave no room for the others.
    (provider,) = demands[0].resources
    together = functools.partial(_replace_together, context)
    return context.service.combined.run(replace, Ticket(provider, demands[0]), alone, together)


def _replace_together(context: Context, tickets: Sequence[Ticket[None]]) -> dict[str, None]:
    """Replace the allocations of several requests: ``together`` of ``Combined.run``."""
    of_consumers = {ticket.value.consumer: ticket for ticket in tickets}
    written = replace_some(context, [ticket.value for ticket in of_consumers.values()])
    return dict.fromkeys(of_consumers[consumer].name for consumer in written)
