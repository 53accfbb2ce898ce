"""The fields of allocations (Ironic's own; those of Placement are something else)."""

from ironic_traits.resources.fields import Argument, Field, Filter, Resource, When

_TEXT = Filter(Argument.TEXT)

_LISTED = (
    'uuid', 'created_at', 'updated_at', 'candidate_nodes', 'extra', 'last_error', 'name', 'node_uuid',
    'owner', 'resource_class', 'state', 'traits',
)  # fmt: skip

ALLOCATIONS = Resource(
    name='node_allocations',
    path='allocations',
    fields=(
        Field('uuid', 52, When.AT_CREATION),
        Field('created_at', 52),
        Field('updated_at', 52),
        Field('candidate_nodes', 52, When.AT_CREATION),
        Field('extra', 52, When.ALWAYS, {}),
        Field('last_error', 52),
        Field('name', 52, When.ALWAYS),
        Field('node_uuid', 52),
        Field('owner', 60, When.AT_CREATION, filter=_TEXT),
        Field('resource_class', 52, When.AT_CREATION, filter=_TEXT),
        Field('state', 52, filter=_TEXT),
        Field('traits', 52, When.AT_CREATION),
    ),
    listed=_LISTED,
    filters=(Filter(Argument.TEXT, 52, 'node'),),
    hidden=('origin',),
    served_since=52,
    detail_since=None,
    names_since=52,
)
