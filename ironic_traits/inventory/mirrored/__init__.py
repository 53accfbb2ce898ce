"""Nodes and records of other clouds: what the mirror stores, writes there, and holds there."""
