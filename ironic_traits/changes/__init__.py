"""Changes of the inventory: the feed, the streams to clients, and ETags."""
