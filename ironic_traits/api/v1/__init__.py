"""The Bare Metal API, one module per noun."""
