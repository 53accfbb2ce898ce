"""The fields of resources: one table per resource, from which every layer takes what it needs.

A table says of each field which version brought it, who may set and see it, its default, and how lists filter by it.
This package imports nothing of the others, and no library of the database or of HTTP, so the client may use it, too.
"""

from ironic_traits.resources.allocations import ALLOCATIONS
from ironic_traits.resources.chassis import CHASSIS
from ironic_traits.resources.deploy_templates import DEPLOY_TEMPLATES
from ironic_traits.resources.inspection_rules import INSPECTION_RULES
from ironic_traits.resources.nodes import NODES
from ironic_traits.resources.portgroups import PORTGROUPS
from ironic_traits.resources.ports import PORTS
from ironic_traits.resources.runbooks import RUNBOOKS
from ironic_traits.resources.volume import CONNECTORS, TARGETS

#: All resources with a table.
RESOURCES = (
    NODES,
    CHASSIS,
    PORTGROUPS,
    PORTS,
    CONNECTORS,
    TARGETS,
    DEPLOY_TEMPLATES,
    RUNBOOKS,
    INSPECTION_RULES,
    ALLOCATIONS,
)
