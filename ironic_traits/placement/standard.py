"""The standard traits and resource classes of the installed libraries os-traits and os-resource-classes."""

import os_resource_classes

from ironic_traits.db import names, tables
from ironic_traits.db.engine import Writer, retried
from ironic_traits.matching.traits import STANDARD


@retried
def sync(service: Writer) -> int:
    """Insert the standard names that are missing in the database.

    Several processes may do this at the same time.

    :param service: ironic_traits.service.Service, for example.
    :returns: the number of inserted names.
    """
    with service.write() as connection:
        return names.sync(connection, tables.traits, STANDARD) + names.sync(
            connection, tables.resource_classes, os_resource_classes.STANDARDS
        )
