"""What requests call to hold nodes: by reservations, by allocations of Ironic, and by allocations in Placement.

``service.Service.holder`` is this module. With [mirror] claims, it is ``ironic_traits/mirror/cloud_holder.py``, whose
functions of the same names hold mirrored nodes in their clouds, too.
"""

from ironic_traits.context import Context
from ironic_traits.inventory.holds.allocate import create as allocate
from ironic_traits.inventory.holds.reserve import reserve
from ironic_traits.placement.allocations import delete, replace, reshape

__all__ = ('allocate', 'delete', 'release', 'replace', 'reserve', 'reshape')


def release(context: Context, holder: str) -> None:
    """End what a reservation or an allocation has held outside of this service. It has ended in this service.

    :param holder: its uuid.
    """
