"""JSON patches of nodes."""

from collections.abc import Callable
from typing import Any

from oslo_utils import strutils

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import patch as json_patch
from ironic_traits.api.patch import given_fields
from ironic_traits.api.types import PatchOperation
from ironic_traits.api.v1 import node_fields, node_ident, node_types
from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.resources.nodes import NODES

_UPDATE = 'baremetal:node:update'
#: The rules that a patch may need: one of all fields, and those of single fields.
RULES = (_UPDATE, *dict.fromkeys(rule.name for rule in NODES.change_rules))


def rules(operations: list[PatchOperation]) -> set[str]:
    """Return the names of the policy rules that must all allow a patch of a node."""
    return {_rule(operation) for operation in operations} or {_UPDATE}


def _rule(operation: PatchOperation) -> str:
    name = operation.path.split('/')[1]
    rule = NODES[name].change_rule if name in NODES else None
    if name == 'automated_clean' and strutils.bool_from_string(operation.value, default=None) is not False:
        # As in Ironic, only switching it off needs more rights.
        return _UPDATE
    return rule.name if rule else _UPDATE


def changer(
    context: Context, operations: list[PatchOperation], reset_interfaces: bool | None = False
) -> Callable[[Values], Values]:
    """Return the function that applies a patch to a node, for ``inventory.nodes.nodes.update``.

    Errors that do not depend on the node are raised here, before it is looked up.

    :param reset_interfaces: whether interfaces that the patch does not name get the defaults of the new driver.
    :returns: function from the settable fields of a node to their new values.
    :raises failures.InvalidInput: a path cannot be changed.
    :raises failures.VersionTooLow: a field needs a later version.
    """
    patch = [_operation(context, operation) for operation in operations]
    named = {operation['path'].split('/')[1] for operation in patch}
    if reset_interfaces and 'driver' not in named:
        raise failures.InvalidInput(
            reason="The reset_interfaces parameter can only be used when changing the node's driver."
        )

    def change(node: Values) -> Values:
        document = json_patch.apply(node, patch)
        if reset_interfaces:
            for name in [name for name in document if name.endswith('_interface') and name not in named]:
                del document[name]
        return settable(context, request_body.typed(node_types.NodeBody, document), node)

    return change


def settable(context: Context, body: Any, before: dict[str, Any]) -> dict[str, Any]:
    """Return the settable fields of a node from a body, with defaults for the fields that the body does not have.

    :param before: the settable fields before; {} for a new node.
    :returns: {field: value} with every settable field.
    :raises failures.InvalidInput: the driver is missing, or the name or the network_data is invalid.
    """
    values = NODES.settable | given_fields(body)
    if values['driver'] is None:
        raise failures.InvalidInput(reason='A node needs a driver.')
    if values['name'] is not None and values['name'] != before.get('name'):
        node_ident.check_name(context, values['name'])
    if values['network_data'] != before.get('network_data', {}):
        _check_network_data(values['network_data'])
    return values


def _check_network_data(data: dict[str, Any]) -> None:
    for key in ('links', 'networks', 'services'):
        if data and not isinstance(data.get(key), list):
            raise failures.InvalidInput(reason=f"Invalid network_data: '{key}' is a required property, a list.")


def _operation(context: Context, operation: PatchOperation) -> dict[str, Any]:
    field = json_patch.field(operation)
    if field in NODES.settable:
        node_fields.check(context, field)
    if operation.op == 'remove' and operation.path == '/chassis_uuid':
        context.needs(25, "to remove 'chassis_uuid'")
    plain = json_patch.plain(operation, NODES.settable)
    if operation.op != 'remove' and field == 'name' and operation.value is None:
        raise failures.InvalidInput(
            reason="The name of a node cannot be null. To delete it, use the operation 'remove'."
        )
    return plain
