"""The fields of chassis."""

from ironic_traits.resources.fields import Field, Resource, When
from ironic_traits.resources.nodes import NODES

CHASSIS = Resource(
    name='chassis',
    path='chassis',
    fields=(
        Field('uuid', 1, When.AT_CREATION),
        Field('created_at', 1),
        Field('updated_at', 1),
        Field('description', 1, When.ALWAYS),
        Field('extra', 1, When.ALWAYS, {}),
    ),
    listed=('uuid', 'description'),
    links={'nodes': 1},
    children=(NODES,),
)
