"""Nodes: create, read, change and delete them."""
