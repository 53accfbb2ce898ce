"""The HTTP layer of the Placement API. SQL belongs into ``ironic_traits.placement``."""
