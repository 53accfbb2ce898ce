"""The fields of nodes."""

from ironic_traits.resources.additions import ADDED, Addition
from ironic_traits.resources.fields import Argument, Column, Field, Filter, Resource, Rule, When
from ironic_traits.resources.portgroups import PORTGROUPS
from ironic_traits.resources.ports import PORTS
from ironic_traits.resources.roles import (
    NODE_OPERATOR,
    NODE_OWNER,
    NODE_OWNER_ADMIN,
    NODE_USER,
    OWNER_READER,
    OWNER_SERVICE,
    SERVICE,
    SYSTEM_ADMIN,
    SYSTEM_MEMBER,
    SYSTEM_READER,
    any_of,
)
from ironic_traits.resources.volume import CONNECTORS, TARGETS

_SYSTEM_OR_SERVICE = any_of(SYSTEM_MEMBER, 'rule:service_role')
_WHOLE = any_of(SYSTEM_READER, SERVICE, OWNER_READER, OWNER_SERVICE)


def _update(name: str, check: str) -> Rule:
    return Rule(f'baremetal:node:update:{name}', check, f'Change the {name} of a node.')


def _show(name: str) -> Rule:
    return Rule(f'baremetal:node:get:{name}', _WHOLE, f'See the {name} of a node.')


_UPDATE_DRIVER = _update('driver_interfaces', NODE_OWNER_ADMIN)
_UPDATE_INSTANCE_INFO = Rule(
    'baremetal:node:update_instance_info', NODE_OPERATOR, 'Change the instance_info and the instance_name of a node.'
)
_UPDATE_RETIRED = _update('retired', NODE_OWNER)
_BOOLEAN, _TEXT = Filter(Argument.BOOLEAN), Filter(Argument.TEXT)


def _interface(name: str, since: int) -> Field:
    return Field(f'{name}_interface', since, When.ALWAYS, change_rule=_UPDATE_DRIVER)


_FIELDS = (
    Field('uuid', 1, When.AT_CREATION, column=Column(2, 'UUID')),
    Field('created_at', 1, is_selectable=False),
    Field('updated_at', 1, is_selectable=False, column=Column(120, 'Updated')),
    Field(
        'automated_clean',
        47,
        When.ALWAYS,
        change_rule=Rule('baremetal:node:disable_cleaning', SYSTEM_ADMIN, 'Switch off the automated_clean of a node.'),
    ),
    _interface('bios', 40),
    _interface('boot', 31),
    Field('boot_mode', 75),
    Field('clean_step', 7),
    Field(
        'conductor_group',
        46,
        When.ALWAYS,
        '',
        filter=Filter(Argument.CONDUCTOR_GROUP),
        column=Column(70, 'Conductor group', is_facet=True),
        change_rule=_update('conductor_group', _SYSTEM_OR_SERVICE),
    ),
    # As in Ironic, which stores it from a POST and refuses a PATCH.
    Field('console_enabled', 1, When.AT_CREATION),
    _interface('console', 31),
    _interface('deploy', 31),
    Field('deploy_step', 44),
    Field('description', 51, When.ALWAYS, column=Column(100, 'Description')),
    Field('disable_power_off', 95, When.ALWAYS, False, change_rule=_update('disable_power_off', SYSTEM_ADMIN)),
    Field(
        'driver',
        1,
        When.ALWAYS,
        filter=Filter(Argument.TEXT, 16),
        column=Column(90, 'Driver', is_facet=True),
        change_rule=_UPDATE_DRIVER,
    ),
    Field(
        'driver_info',
        1,
        When.ALWAYS,
        {},
        change_rule=_update('driver_info', NODE_OWNER),
        show_rule=_show('driver_info'),
        secrets_rule='show_password',
    ),
    Field('driver_internal_info', 3, show_rule=_show('driver_internal_info')),
    Field(
        'extra',
        1,
        When.ALWAYS,
        {},
        change_rule=Rule('baremetal:node:update_extra', NODE_USER, 'Change the extra field of a node.'),
    ),
    Field('fault', 42, filter=Filter(Argument.FAULT)),
    _interface('firmware', 86),
    Field('health', 109, column=Column(27, 'Health')),
    Field('inspection_finished_at', 6),
    Field('inspection_started_at', 6),
    _interface('inspect', 31),
    Field(
        'instance_info',
        1,
        When.ALWAYS,
        {},
        change_rule=_UPDATE_INSTANCE_INFO,
        secrets_rule='show_instance_secrets',
    ),
    Field(
        'instance_name',
        104,
        When.ALWAYS,
        filter=Filter(Argument.TEXT, in_requests=False),
        change_rule=_UPDATE_INSTANCE_INFO,
    ),
    Field(
        'instance_uuid',
        1,
        When.ALWAYS,
        column=Column(54, 'Instance'),
        filter=Filter(Argument.UUID, in_requests=False),
        change_rule=_update('instance_uuid', NODE_OWNER),
    ),
    Field('last_error', 1, column=Column(110, 'Last error'), show_rule=_show('last_error')),
    Field(
        'lessee',
        65,
        When.ALWAYS,
        filter=_TEXT,
        column=Column(50, 'Lessee', is_facet=True),
        change_rule=_update('lessee', NODE_OWNER),
    ),
    Field('maintenance', 1, When.ALWAYS, False, filter=_BOOLEAN, column=Column(30, 'Maintenance', is_facet=True)),
    Field('maintenance_reason', 1),
    _interface('management', 31),
    Field('name', 5, When.ALWAYS, column=Column(1, 'Name'), change_rule=_update('name', NODE_OWNER)),
    Field('network_data', 66, When.ALWAYS, {}, change_rule=_update('network_data', NODE_OWNER)),
    _interface('network', 20),
    # The cloud of a mirrored node. Responses with all fields have it for mirrored nodes only: Ironic does not have it.
    Field('origin', ADDED, filter=Filter(Argument.TEXT, in_requests=False), column=Column(80, 'Origin', is_facet=True)),
    Field(
        'owner',
        50,
        When.ALWAYS,
        filter=_TEXT,
        column=Column(40, 'Owner', is_facet=True),
        change_rule=_update('owner', _SYSTEM_OR_SERVICE),
    ),
    # The uuid of the node that this one is a part of. Lists leave such nodes out.
    Field('parent_node', 83, When.ALWAYS, filter=_TEXT, change_rule=_update('parent_node', SYSTEM_MEMBER)),
    _interface('power', 31),
    Field('power_state', 1, column=Column(25, 'Power')),
    Field('properties', 1, When.ALWAYS, {}, change_rule=_update('properties', NODE_OWNER)),
    # An active node can be protected, a new one cannot.
    Field('protected', 48, When.LATER, False),
    Field('protected_reason', 48, When.LATER),
    Field('provision_state', 1, filter=Filter(Argument.TEXT, 9), column=Column(10, 'Provision state', is_facet=True)),
    Field('provision_updated_at', 1),
    Field('raid_config', 12),
    _interface('raid', 31),
    _interface('rescue', 38),
    Field('reservation', 1, show_rule=_show('reservation')),
    Field('reservation_uuid', ADDED, is_column=False, column=Column(56, 'Reservation')),
    Field(
        'resource_class',
        21,
        When.ALWAYS,
        filter=Filter(Argument.TEXT, in_requests=False),
        column=Column(20, 'Resource class', is_facet=True),
    ),
    Field(
        'retired',
        61,
        When.ALWAYS,
        False,
        filter=Filter(Argument.BOOLEAN, words=('retired', 'not retired')),
        change_rule=_UPDATE_RETIRED,
    ),
    Field('retired_reason', 61, When.ALWAYS, change_rule=_UPDATE_RETIRED),
    Field('secure_boot', 75),
    Field('service_step', 87),
    Field(
        'shard',
        82,
        When.ALWAYS,
        filter=Filter(Argument.TEXTS),
        column=Column(60, 'Shard', is_facet=True),
        change_rule=_update('shard', SYSTEM_ADMIN),
    ),
    _interface('storage', 33),
    Field('target_power_state', 1),
    Field('target_provision_state', 1),
    Field('target_raid_config', 12),
    # A filter by traits is one of the four below.
    Field('traits', 37, is_column=False, column=Column(35, 'Traits')),
    # As in GET /v1/nodes/NODE/traits?detail=true.
    Field('trait_sources', ADDED, is_column=False, is_detail=False),
    _interface('vendor', 31),
    # Computed: see inventory/provisioning/conductors.py.
    Field('conductor', 49, is_column=False, filter=_TEXT),
    Field('allocation_uuid', 52),
    Field(
        'chassis_uuid',
        1,
        When.ALWAYS,
        filter=Filter(Argument.UUID),
        change_rule=_update('chassis_uuid', SYSTEM_ADMIN),
    ),
)

NODES = Resource(
    name='nodes',
    path='nodes',
    fields=_FIELDS,
    listed=('uuid', 'instance_uuid', 'maintenance', 'power_state', 'provision_state', 'name'),
    required=('driver',),
    filters=(
        Filter(Argument.BOOLEAN, 1, 'associated', words=('with an instance', 'without an instance')),
        *(
            Filter(Argument.TRAITS, Addition(37), name, in_requests=False)
            for name in ('traits', 'traits_any', 'not_traits', 'not_traits_any')
        ),
        Filter(Argument.SOURCE, ADDED, 'trait_source', in_requests=False),
        Filter(Argument.BOOLEAN, ADDED, 'eligible', in_requests=False, words=('can be reserved', 'cannot be reserved')),
        Filter(Argument.BOOLEAN, ADDED, 'reserved', in_requests=False, words=('reserved', 'not reserved')),
        Filter(Argument.BOOLEAN, ADDED, 'held', in_requests=False, words=('held', 'not held')),
        Filter(Argument.OPTIONAL_FIELDS, ADDED, 'without', in_requests=False),
        Filter(Argument.LONG_TEXT, 51, 'description_contains'),
        Filter(Argument.LONG_TEXT, ADDED, 'search', in_requests=False),
        Filter(Argument.TEXT, 65, 'project'),
        Filter(Argument.BOOLEAN, 82, 'sharded'),
        Filter(Argument.BOOLEAN, 83, 'include_children', words=('with child nodes', 'without child nodes')),
    ),
    links={'ports': 1, 'states': 14, 'portgroups': 24, 'volume': 32},
    hidden=('generation', 'configdrive', 'origin_conductor'),
    identifiers=(('uuid',), ('name',)),
    # Portgroups first, because ports refer to them.
    children=(PORTGROUPS, PORTS, CONNECTORS, TARGETS),
)

#: The driver interfaces of a node. Each has a field ``{name}_interface``.
INTERFACES = tuple(name.removesuffix('_interface') for name in NODES.since if name.endswith('_interface'))
