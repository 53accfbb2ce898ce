"""The fields of ports."""

from ironic_traits.resources.fields import Argument, Field, Filter, Resource, When

PORTS = Resource(
    name='ports',
    path='ports',
    fields=(
        Field('uuid', 1, When.AT_CREATION),
        Field('created_at', 1),
        Field('updated_at', 1),
        Field('address', 1, When.ALWAYS, filter=Filter(Argument.MAC)),
        Field('node_uuid', 1, When.ALWAYS, filter=Filter(Argument.UUID)),
        Field('extra', 1, When.ALWAYS, {}),
        Field('internal_info', 18),
        Field('local_link_connection', 19, When.ALWAYS, {}),
        Field('pxe_enabled', 19, When.ALWAYS, True),
        Field('portgroup_uuid', 24, When.ALWAYS),
        Field('physical_network', 34, When.ALWAYS),
        Field('is_smartnic', 53, When.ALWAYS, False),
        Field('name', 88, When.ALWAYS),
        Field('description', 97, When.ALWAYS),
        Field('vendor', 100, When.ALWAYS),
        Field('category', 101, When.ALWAYS),
        Field('available_for_dynamic_portgroup', 111, When.ALWAYS, True),
    ),
    listed=('uuid', 'address'),
    required=('node_uuid', 'address'),
    filters=(
        Filter(Argument.TEXT, 1, 'node'),
        Filter(Argument.TEXT, 24, 'portgroup'),
        Filter(Argument.TEXTS, 82, 'shard'),
        Filter(Argument.LONG_TEXT, 97, 'description_contains'),
        Filter(Argument.TEXTS, 99, 'conductor_groups'),
    ),
    names_since=88,
    identifiers=(('uuid',), ('address',)),
)
