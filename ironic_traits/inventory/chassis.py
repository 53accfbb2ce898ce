"""Chassis: what nodes stand in."""

from ironic_traits.db.models import chassis
from ironic_traits.inventory.records import Kind

CHASSIS = Kind(chassis, 'chassis', {'description': None, 'extra': {}})
