"""Chassis: the enclosures that nodes are in."""

from ironic_traits.db import tables
from ironic_traits.inventory.records import Kind

CHASSIS = Kind(table=tables.chassis, what='chassis', settable={'description': None, 'extra': {}})
