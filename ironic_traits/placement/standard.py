"""The standard traits and resource classes of the installed libraries os-traits and os-resource-classes."""

import os_resource_classes

from ironic_traits.db import names
from ironic_traits.db.engine import retried
from ironic_traits.db.models import resource_classes, traits
from ironic_traits.matching.traits import STANDARD


@retried
def sync(service):
    """Insert the standard names that are missing in the database.

    Several processes may do this at the same time.

    :param service: an object with ``write``: ironic_traits.service.Service, for example.
    :returns: the number of inserted names.
    """
    with service.write() as connection:
        return names.sync(connection, traits, STANDARD) + names.sync(
            connection, resource_classes, os_resource_classes.STANDARDS
        )
