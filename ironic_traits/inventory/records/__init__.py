"""Ports, portgroups, chassis, volumes, templates, runbooks and rules: stored and listed in one way."""
