"""Nodes and records of other clouds: what the mirror stores, and what it writes and holds in the clouds."""
