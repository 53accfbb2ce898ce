"""The mirror: follows the Ironic of other clouds, and stores their nodes in the inventory."""
