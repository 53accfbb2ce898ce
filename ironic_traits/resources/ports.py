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
    ),
    listed=('uuid', 'address'),
    required=('node_uuid', 'address'),
    filters=(
        Filter(Argument.TEXT, 1, 'node'),
        Filter(Argument.TEXT, 24, 'portgroup'),
        Filter(Argument.TEXTS, 82, 'shard'),
    ),
    # Ironic has names of ports since then, which is later than our last version.
    names_since=88,
)
