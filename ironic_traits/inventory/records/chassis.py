"""Chassis: the enclosures of nodes."""

from ironic_traits import resources
from ironic_traits.inventory.records.record_kinds import Kind

CHASSIS = Kind(resources.CHASSIS)
