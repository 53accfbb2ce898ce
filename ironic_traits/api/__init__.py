"""The HTTP layer: requests and responses. SQL belongs into ``inventory`` and ``placement``."""
