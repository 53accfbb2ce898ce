"""The standard names of traits and resource classes, as the installed libraries give them."""

import os_resource_classes

from ironic_traits.db import names
from ironic_traits.db.engine import retried
from ironic_traits.db.models import resource_classes, traits
from ironic_traits.matching.traits import STANDARD


@retried
def sync(service):
    """Insert the names that are missing.  Safe at any time, and when several processes do it at once.

    :param service: what has ``write``.
    :returns: how many were missing.
    """
    with service.write() as connection:
        return names.sync(connection, traits, STANDARD) + names.sync(
            connection, resource_classes, os_resource_classes.STANDARDS
        )
