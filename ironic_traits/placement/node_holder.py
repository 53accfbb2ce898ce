"""What requests call to hold nodes: by reservations, by allocations of Ironic, and by allocations in Placement.

``service.Service.holder`` chooses the implementation. With [mirror] claims, it is the one of
``ironic_traits/mirror/cloud_holder.py``, which holds mirrored nodes in their clouds, too.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.holds import allocate, reserve
from ironic_traits.inventory.holds.reservations import Expiry
from ironic_traits.inventory.holds.reserve import Reservations
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.placement import allocations
from ironic_traits.placement.allocations import Reshapes
from ironic_traits.placement.consumers import Claim


class NodeHolder:
    """The holds of nodes, in this service only.

    With clouds, all methods but ``release`` and ``delete`` raise failures.ClaimUnconfirmed if it is not known whether a
    cloud holds its node; ``replace`` and ``reshape`` raise placement.failures.NodeNotHeld if it does not.
    """

    def reserve(
        self, context: Context, instances: Sequence[str], node_request: NodeRequest, expiry: Expiry
    ) -> Reservations:
        """Reserve a node for each instance, as ``inventory.holds.reserve.reserve`` does."""
        return reserve.reserve(context, instances, node_request, expiry)

    def allocate(self, context: Context, values: Values, node_request: NodeRequest, fields: tuple[str, ...]) -> sa.Row:
        """Create an allocation, as ``inventory.holds.allocate.create`` does."""
        return allocate.create(context, values, node_request, fields)

    def release(self, context: Context, holder: str) -> None:
        """End what a reservation or an allocation has held outside this service. It has ended here.

        :param holder: its uuid.
        """

    def replace(self, context: Context, demands: Sequence[Claim]) -> None:
        """Replace the allocations of consumers, as ``placement.allocations.replace`` does."""
        allocations.replace(context, demands)

    def reshape(self, context: Context, reshapes: Reshapes, demands: Sequence[Claim]) -> None:
        """Replace inventories and allocations, as ``placement.allocations.reshape`` does.

        Nodes that are new to a consumer must already be held in their clouds.
        """
        allocations.reshape(context, reshapes, demands)

    def delete(self, context: Context, consumer: str) -> None:
        """Delete all allocations of a consumer, as ``placement.allocations.delete`` does."""
        allocations.delete(context, consumer)
