"""Hosts of the database that stop, hang or change: choose another one, and limit what that costs."""
