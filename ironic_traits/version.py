"""The version of the installed service."""

import functools
from importlib import metadata


@functools.cache
def version() -> str:
    """Return the version of this release; ``unknown`` in a checkout that is not installed."""
    try:
        return metadata.version('ironic-traits')
    except metadata.PackageNotFoundError:
        return 'unknown'
