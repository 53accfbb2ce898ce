"""Provision states, transitions, and the workers that perform them."""
