"""The other services that requests may name: nova and Glance."""
