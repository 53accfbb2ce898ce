"""The server of ironic-traits-api: granian, its processes, and its connections."""
