"""The drivers of the databases, and the limits of their waits."""
