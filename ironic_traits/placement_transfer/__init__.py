"""Imports from, and exports to, another Placement, through its API."""
