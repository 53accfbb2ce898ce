"""What a JSON patch makes of a node."""

import re

import jsonpatch
import jsonpointer
import wsme.types

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import types
from ironic_traits.api.v1 import node_fields, node_ident
from ironic_traits.inventory.nodes import JSON_FIELDS, SETTABLE

#: What the fields are that cannot be null, when nobody says anything of them.
_UNSET = {
    **{name: {} for name in SETTABLE if name in JSON_FIELDS},
    **dict.fromkeys(('maintenance', 'protected', 'retired'), False),
    'conductor_group': '',
}
#: A JSON pointer to a field, or into it.
_PATH = re.compile(r'/[^/]+(/.*)?', re.DOTALL)


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
        try:
            patched = jsonpatch.apply_patch(node, patch)
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
            raise failures.InvalidInput(reason=f"Couldn't apply patch. Reason: {error}") from error
        if reset_interfaces:
            patched |= {name: None for name in patched if name.endswith('_interface') and name not in named}
        document = {name: value for name, value in patched.items() if value is not None}
        return settable(context, request_body.typed(types.NodeBody, document), node)

    return change


def settable(context, body, before):
    """Give the settable fields of a node as a client wants it, with what it leaves out filled in.

    :param body: types.NodeBody.
    :param before: the node's settable fields before; {} for a node that is new.
    :returns: {field: value} with every settable field.
    :raises failures.InvalidInput: a node cannot have this name.
    """
    values = dict.fromkeys(SETTABLE) | _UNSET
    values |= {name: value for name, value in given(body).items() if value is not None}
    if values['driver'] is None:
        raise failures.InvalidInput(reason='A node needs a driver.')
    if values['name'] is not None and values['name'] != before.get('name'):
        node_ident.check_name(context, values['name'])
    if values['network_data'] != before.get('network_data', {}):
        _check_network_data(values['network_data'])
    return values


def given(body):
    """Give what a client said of a node: {field: value}, None where it said null."""
    attributes = wsme.types.list_attributes(types.NodeBody)
    values = {attribute.name: getattr(body, attribute.key) for attribute in attributes}
    return {name: value for name, value in values.items() if value is not wsme.types.Unset}


def _check_network_data(data):
    for key in ('links', 'networks', 'services'):
        if data and not isinstance(data.get(key), list):
            raise failures.InvalidInput(reason=f"Invalid network_data: '{key}' is a required property, a list.")


def _operation(context, operation):
    field = operation.path.split('/')[1] if _PATH.fullmatch(operation.path) else None
    if field is None:
        raise failures.InvalidInput(reason=f"'{operation.path}' is not a path: '/field' or '/field/key' is expected.")
    if field in SETTABLE:
        node_fields.check(context, field)
    if field not in SETTABLE:
        raise failures.InvalidInput(
            reason=f'Cannot patch {operation.path}. Only the following can be updated: {", ".join(sorted(SETTABLE))}'
        )
    plain = {'op': operation.op, 'path': operation.path}
    if operation.op == 'remove':
        if operation.path == f'/{field}':
            # Every field is there, if only as null: to remove one is to set it back.
            return {'op': 'replace', 'path': operation.path, 'value': None}
        return plain
    if operation.value is wsme.types.Unset:
        raise failures.InvalidInput(reason=f"Couldn't apply patch. Reason: '{operation.op}' needs a 'value'.")
    if field == 'name' and operation.value is None:
        raise failures.InvalidInput(reason="A node cannot be named null; to take its name away, 'remove' it.")
    return plain | {'value': operation.value}
