"""Chassis: the enclosures that nodes are in."""

from ironic_traits.db.models import chassis
from ironic_traits.inventory.records import Kind

CHASSIS = Kind(table=chassis, what='chassis', settable={'description': None, 'extra': {}})
