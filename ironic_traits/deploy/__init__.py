"""The drivers that nodes name, behind stevedore entry points."""
