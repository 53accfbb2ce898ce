"""JSON schemas of the parameters in paths, from what the service checks them with."""

from ironic_traits import resources
from ironic_traits.api import types
from ironic_traits.api.description.types import Schema
from ironic_traits.api.placement import schemas
from ironic_traits.api.v1 import node_ident
from ironic_traits.inventory.core import node_names

_IDENT = {'type': 'string', 'pattern': f'^{node_names.PATTERN.pattern}$'}
#: Of Placement: all names, and those that clients can create.
_NAME, _CUSTOM = (
    {'type': 'string', 'pattern': pattern.replace(r'\Z', '$'), 'maxLength': 255}
    for pattern in (schemas.NAME, schemas.CUSTOM_NAME)
)
_SCHEMAS = {'trait': types.Trait.schema, 'name': _NAME, 'resource_class': _NAME}
#: {parameter: the minor version that brought names of the resource. Before, there are uuids only}.
_NAMED_SINCE = {
    'node_ident': node_ident.NAMES_SINCE,
    'port_ident': resources.PORTS.names_since,
    'portgroup_ident': resources.PORTGROUPS.names_since,
    'allocation_ident': resources.ALLOCATIONS.names_since,
    'template_ident': resources.DEPLOY_TEMPLATES.names_since,
    'runbook_ident': resources.RUNBOOKS.names_since,
    'rule_ident': resources.INSPECTION_RULES.names_since,
}


def parameter(method: str, name: str, minor: int) -> Schema:
    """Return the description of a parameter in a path."""
    return {'name': name, 'in': 'path', 'required': True, 'schema': _schema(method, name, minor)}


def _schema(method: str, name: str, minor: int) -> Schema:
    if name.endswith('uuid') or minor < (_NAMED_SINCE.get(name) or 0):
        return types.Uuid.schema
    if name in _NAMED_SINCE:
        return _IDENT
    if name == 'name' and method == 'PUT':
        return _CUSTOM
    # Anything but a slash, which would lead to another path.
    return _SCHEMAS.get(name, {'type': 'string', 'pattern': '^[^/]+$'})
