"""The fields of portgroups."""

from ironic_traits.resources.fields import Argument, Field, Filter, Resource, When
from ironic_traits.resources.ports import PORTS

PORTGROUPS = Resource(
    name='portgroups',
    path='portgroups',
    fields=(
        Field('uuid', 23, When.AT_CREATION),
        Field('created_at', 23),
        Field('updated_at', 23),
        Field('name', 23, When.ALWAYS),
        Field('address', 23, When.ALWAYS, filter=Filter(Argument.MAC)),
        Field('node_uuid', 23, When.ALWAYS),
        Field('extra', 23, When.ALWAYS, {}),
        Field('internal_info', 23),
        Field('standalone_ports_supported', 23, When.ALWAYS, True),
        Field('mode', 26, When.ALWAYS, 'active-backup'),
        Field('properties', 26, When.ALWAYS, {}),
        Field('physical_network', 102, When.ALWAYS),
        Field('category', 103, When.ALWAYS),
        # Always false: this service does not make portgroups of its own.
        Field('dynamic_portgroup', 111),
    ),
    listed=('uuid', 'address', 'name'),
    required=('node_uuid',),
    filters=(
        Filter(Argument.TEXT, 23, 'node'),
        Filter(Argument.TEXTS, 99, 'conductor_groups'),
        Filter(Argument.TEXTS, 106, 'shard'),
    ),
    links={'ports': 23},
    served_since=23,
    names_since=23,
    identifiers=(('uuid',), ('name',), ('address',)),
    children=(PORTS,),
)
