"""Chassis: the enclosures that nodes are in."""

from ironic_traits import resources
from ironic_traits.inventory.records import Kind

CHASSIS = Kind(resources.CHASSIS)
