"""The Bare Metal API, one module per resource."""
