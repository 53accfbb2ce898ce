"""Nodes, their traits, reservations and related records: plain functions that return rows, without HTTP."""
