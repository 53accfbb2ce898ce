"""The fields of a node: since which version each is there, and how each is shown."""

import functools

import orjson

from ironic_traits import failures
from ironic_traits.inventory import node_traits
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
#: Links to what belongs to a node, by the version that brought them.
LINKS_SINCE = {'ports': 1, 'states': 14, 'portgroups': 24, 'volume': 32}
#: Fields that cannot be asked for by name.
_NOT_SELECTABLE = ('created_at', 'updated_at')
#: The fields of a list for which nobody asked.
_LISTED = ('uuid', 'instance_uuid', 'maintenance', 'power_state', 'provision_state', 'name')


def all_fields(context):
    """Name the fields of a whole node at the request's version, a tuple."""
    return _up_to(context.minor, tuple(SINCE))


def listed_fields(context):
    """Name the fields of a node in a list at the request's version, a tuple."""
    return _up_to(context.minor, _LISTED)


def selected(context, given):
    """Name the fields that a client asks for, each once.

    :param given: lists of names, one for each time that ``fields`` was given.
    :returns: a tuple.
    :raises failures.VersionTooLow: ``fields``, or one of them, came with a later version.
    :raises failures.InvalidInput: one of them is no field, or there are none.
    """
    context.needs(8, "the argument 'fields'")
    names = tuple(dict.fromkeys(name for names in given for name in names))
    for name in names:
        if name not in SINCE or name in _NOT_SELECTABLE:
            raise failures.InvalidInput(reason=f'Field {name} is not a valid field.')
        check(context, name)
    if not names:
        raise failures.InvalidInput(reason="The argument 'fields' names no field.")
    return names


def check(context, name):
    """Do nothing when a field is there at the request's version.

    :raises failures.VersionTooLow: it came later.
    """
    context.needs(SINCE.get(name, 1), f"the field '{name}'")


def presenter(context, fields, links=False):
    """Make the function that turns a row into a node as clients see it.

    What depends on the request is worked out here, once, and not for each row.

    :param fields: the names of the row's columns, in their order.
    :param links: whether the node has links to itself ('node'), to what belongs to it too ('all'), or none (False).
    :returns: function from a row to a dict.
    """
    converters = [(name, _converter(context, name)) for name in fields]
    linked = [name for name, since in LINKS_SINCE.items() if since <= context.minor] if links == 'all' else []

    def show(row):
        node = {
            name: convert(value) if convert else value for (name, convert), value in zip(converters, row, strict=True)
        }
        if links:
            uuid = node['uuid']
            node['links'] = context.links('nodes', uuid)
            for name in linked:
                node[name] = context.links('nodes', uuid, name)
        return node

    return show


@functools.lru_cache
def _up_to(minor, names):
    return tuple(name for name in names if SINCE[name] <= minor)


def _converter(context, name):
    if name == 'provision_state':
        return _state_shown(context.minor)
    if name == 'conductor':
        return lambda nothing: context.conf.host
    return _CONVERTERS.get(name)


def _state_shown(minor):
    """Give the function that says a state in the words that a version has; None where it has all of them."""
    said: dict[str, str | None] = {}
    if minor < 2:
        said['available'] = None
    if minor < 39:
        said['inspect wait'] = 'inspecting'
    return (lambda state: said.get(state, state)) if said else None


_CONVERTERS = {
    # Stored text goes into the answer as it is.
    **dict.fromkeys(JSON_FIELDS, orjson.Fragment),
    'traits': node_traits.split,
}
