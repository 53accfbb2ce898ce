"""Drivers of nodes, loaded from stevedore entry points."""
