"""The fields of a node: the version that brought each, and how each is shown."""

import functools

import orjson

from ironic_traits import failures
from ironic_traits.inventory.nodes import JSON_FIELDS

#: The minor version that brought each field.
SINCE = {
    'uuid': 1,
    'created_at': 1,
    'updated_at': 1,
    'automated_clean': 47,
    'bios_interface': 40,
    'boot_interface': 31,
    'boot_mode': 75,
    'clean_step': 7,
    'conductor_group': 46,
    'console_enabled': 1,
    'console_interface': 31,
    'deploy_interface': 31,
    'deploy_step': 44,
    'description': 51,
    'driver': 1,
    'driver_info': 1,
    'driver_internal_info': 3,
    'extra': 1,
    'fault': 42,
    'inspection_finished_at': 6,
    'inspection_started_at': 6,
    'inspect_interface': 31,
    'instance_info': 1,
    'instance_uuid': 1,
    'last_error': 1,
    'lessee': 65,
    'maintenance': 1,
    'maintenance_reason': 1,
    'management_interface': 31,
    'name': 5,
    'network_data': 66,
    'network_interface': 20,
    'owner': 50,
    'power_interface': 31,
    'power_state': 1,
    'properties': 1,
    'protected': 48,
    'protected_reason': 48,
    'provision_state': 1,
    'provision_updated_at': 1,
    'raid_config': 12,
    'raid_interface': 31,
    'rescue_interface': 38,
    'reservation': 1,
    'reservation_uuid': 38,
    'resource_class': 21,
    'retired': 61,
    'retired_reason': 61,
    'secure_boot': 75,
    'shard': 82,
    'storage_interface': 33,
    'target_power_state': 1,
    'target_provision_state': 1,
    'target_raid_config': 12,
    'traits': 37,
    'vendor_interface': 31,
    'conductor': 49,
    'allocation_uuid': 52,
    'chassis_uuid': 1,
}
#: The minor versions that brought the links to resources below a node.
LINKS_SINCE = {'ports': 1, 'states': 14, 'portgroups': 24, 'volume': 32}
#: Fields that ``fields`` cannot select.
_NOT_SELECTABLE = ('created_at', 'updated_at')
#: The fields in a list without ``fields`` and ``detail``.
_LISTED = ('uuid', 'instance_uuid', 'maintenance', 'power_state', 'provision_state', 'name')


def all_fields(context):
    """Return the names of all fields of a node at the version of the request, a tuple."""
    return _up_to(context.minor, tuple(SINCE))


def listed_fields(context):
    """Return the names of the fields of a node in a list at the version of the request, a tuple."""
    return _up_to(context.minor, _LISTED)


def selected(context, lists):
    """Return the names of the fields that a request selects, without duplicates.

    :param lists: lists of names, one for each ``fields`` in the query.
    :returns: a tuple.
    :raises failures.VersionTooLow: ``fields``, or one of the fields, needs a later version.
    :raises failures.InvalidInput: a name is not that of a field, or there are no names.
    """
    context.needs(8, "the argument 'fields'")
    names = tuple(dict.fromkeys(name for names in lists for name in names))
    for name in names:
        if name not in SINCE or name in _NOT_SELECTABLE:
            raise failures.InvalidInput(reason=f'Field {name} is not a valid field.')
        check(context, name)
    if not names:
        raise failures.InvalidInput(reason="The argument 'fields' does not name any field.")
    return names


def check(context, name):
    """Raise VersionTooLow unless the version of the request has a field.

    :raises failures.VersionTooLow: the field needs a later version.
    """
    context.needs(SINCE.get(name, 1), f"the field '{name}'")


def presenter(context, fields, links=False):
    """Return a function that turns a row into a node for the response.

    Everything that depends only on the request is computed once, not for each row.

    :param fields: the names of the columns of the row, in their order.
    :param links: which links the node has: to itself ('node'), also to the resources below it ('all'), or none (False).
    :returns: function from a row to a dict.
    """
    converters = [(name, _converter(context, name)) for name in fields]
    members = [name for name, since in LINKS_SINCE.items() if since <= context.minor] if links == 'all' else []

    def show(row):
        node = {
            name: convert(value) if convert else value for (name, convert), value in zip(converters, row, strict=True)
        }
        if links:
            uuid = node['uuid']
            node['links'] = context.links('nodes', uuid)
            for name in members:
                node[name] = context.links('nodes', uuid, name)
        return node

    return show


@functools.lru_cache
def _up_to(minor, names):
    return tuple(name for name in names if SINCE[name] <= minor)


def _converter(context, name):
    if name == 'provision_state':
        return _state_converter(context.minor)
    if name == 'conductor':
        return lambda value: context.conf.host
    return _CONVERTERS.get(name)


def _state_converter(minor):
    """Return a function that replaces provision states which a version does not have; None if it has all of them."""
    replacements: dict[str, str | None] = {}
    if minor < 2:
        replacements['available'] = None
    if minor < 39:
        replacements['inspect wait'] = 'inspecting'
    return (lambda state: replacements.get(state, state)) if replacements else None


_CONVERTERS = {
    # The database has JSON text, which goes into the response unchanged.
    **dict.fromkeys(JSON_FIELDS, orjson.Fragment),
}
