"""Imports from another Placement, and exports to it, through its API."""
