"""What a JSON patch makes of a node."""

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import patch as json_patch
from ironic_traits.api.patch import given
from ironic_traits.api.v1 import node_fields, node_ident, node_types
from ironic_traits.inventory.nodes import SETTABLE, UNSET

#: The rules of single fields; of all others it is that of the node.
_RULES = {
    'extra': 'baremetal:node:update_extra',
    'instance_info': 'baremetal:node:update_instance_info',
    'automated_clean': 'baremetal:node:disable_cleaning',
    **{
        name: f'baremetal:node:update:{name}'
        for name in (
            *('driver_info', 'properties', 'instance_uuid', 'lessee', 'network_data', 'name', 'retired', 'owner'),
            *('conductor_group', 'chassis_uuid', 'shard'),
        )
    },
    'driver': 'baremetal:node:update:driver_interfaces',
    'retired_reason': 'baremetal:node:update:retired',
}


def rules(operations):
    """Name the policy rules that a patch of a node needs, all of them.

    :param operations: [types.PatchOperation, …].
    """
    return {_rule(operation.path.split('/')[1]) for operation in operations} or {'baremetal:node:update'}


def _rule(field):
    if field.endswith('_interface'):
        field = 'driver'
    return _RULES.get(field, 'baremetal:node:update')


def changer(context, operations, reset_interfaces=False):
    """Make the function that ``inventory.nodes.update`` wants.

    What can be said of the patch alone is said here, before a node is looked for.

    :param operations: [types.PatchOperation, …].
    :param reset_interfaces: whether interfaces that the patch does not name go back to the defaults of a new driver.
    :returns: function from a node's settable fields (a dict) to those that it shall have.
    :raises failures.InvalidInput: a path that cannot be changed.
    :raises failures.VersionTooLow: a field that came with a later version.
    """
    patch = [_operation(context, operation) for operation in operations]
    named = {operation['path'].split('/')[1] for operation in patch}
    if reset_interfaces and 'driver' not in named:
        raise failures.InvalidInput(
            reason="The reset_interfaces parameter can only be used when changing the node's driver."
        )

    def change(node):
        document = json_patch.apply(node, patch)
        if reset_interfaces:
            for name in [name for name in document if name.endswith('_interface') and name not in named]:
                del document[name]
        return settable(context, request_body.typed(node_types.NodeBody, document), node)

    return change


def settable(context, body, before):
    """Give the settable fields of a node as a client wants it, with what it leaves out filled in.

    :param body: node_types.NodeBody.
    :param before: the node's settable fields before; {} for a node that is new.
    :returns: {field: value} with every settable field.
    :raises failures.InvalidInput: a node cannot have this name.
    """
    values = dict.fromkeys(SETTABLE) | UNSET
    values |= {name: value for name, value in given(body).items() if value is not None}
    if values['driver'] is None:
        raise failures.InvalidInput(reason='A node needs a driver.')
    if values['name'] is not None and values['name'] != before.get('name'):
        node_ident.check_name(context, values['name'])
    if values['network_data'] != before.get('network_data', {}):
        _check_network_data(values['network_data'])
    return values


def _check_network_data(data):
    for key in ('links', 'networks', 'services'):
        if data and not isinstance(data.get(key), list):
            raise failures.InvalidInput(reason=f"Invalid network_data: '{key}' is a required property, a list.")


def _operation(context, operation):
    field = json_patch.field(operation)
    if field in SETTABLE:
        node_fields.check(context, field)
    if operation.op == 'remove' and operation.path == '/chassis_uuid':
        context.needs(25, "to remove 'chassis_uuid'")
    plain = json_patch.plain(operation, SETTABLE)
    if operation.op != 'remove' and field == 'name' and operation.value is None:
        raise failures.InvalidInput(reason="A node cannot be named null; to take its name away, 'remove' it.")
    return plain
