"""Reservations, allocations and claims: who holds a node."""
