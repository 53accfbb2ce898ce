"""Who holds nodes for requests: by reservations, by allocations of Ironic, and by allocations in Placement.

With [mirror] claims, it is the module ``mirror.cloud_holder``, which holds mirrored nodes in their clouds, too.
"""

from collections.abc import Sequence
from typing import Protocol

import sqlalchemy as sa
from oslo_config import cfg

from ironic_traits.conf.mirror import claims_any_nodes
from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.holds.allocate import create_combined
from ironic_traits.inventory.holds.reservations import Expiry
from ironic_traits.inventory.holds.reserve import Reservations, reserve_combined
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.placement.allocations import Reshapes, delete, reshape
from ironic_traits.placement.combined_allocations import replace_combined
from ironic_traits.placement.consumers import Demand


class Holder(Protocol):
    """What routes call to hold nodes, and to end that."""

    def reserve(
        self, context: Context, instances: Sequence[str], node_request: NodeRequest, expiry: Expiry, /
    ) -> Reservations:
        """Reserve a node for each instance, as ``inventory.holds.reserve.reserve`` does."""

    def allocate(
        self, context: Context, values: Values, node_request: NodeRequest, fields: tuple[str, ...], /
    ) -> sa.Row:
        """Create an allocation, as ``inventory.holds.allocate.create`` does."""

    def release(self, context: Context, holder: str, /) -> None:
        """End what a reservation or an allocation has held outside of this service. It has ended in this service.

        :param holder: its uuid.
        """

    def replace(self, context: Context, demands: Sequence[Demand], /) -> None:
        """Replace the allocations of consumers, as ``placement.allocations.replace`` does."""

    def reshape(self, context: Context, reshapes: Reshapes, demands: Sequence[Demand], /) -> None:
        """Replace inventories and allocations, as ``placement.allocations.reshape`` does."""

    def delete(self, context: Context, consumer: str, /) -> None:
        """Delete all allocations of a consumer, as ``placement.allocations.delete`` does."""


class _LocalHolder:
    """Holds nodes in this service only."""

    reserve, allocate = staticmethod(reserve_combined), staticmethod(create_combined)
    replace, reshape, delete = staticmethod(replace_combined), staticmethod(reshape), staticmethod(delete)

    def release(self, context: Context, holder: str) -> None:
        """End nothing: nothing is held outside of this service."""


def holder(conf: cfg.ConfigOpts) -> Holder:
    """Return who holds nodes for requests."""
    if claims_any_nodes(conf):
        # Imported late: without this option, routes need nothing of the mirror.
        from ironic_traits.mirror import cloud_holder

        return cloud_holder
    return _LocalHolder()
