"""The fields of inspection rules."""

from ironic_traits.resources.additions import Addition
from ironic_traits.resources.fields import Argument, Field, Filter, Resource, When

INSPECTION_RULES = Resource(
    name='inspection_rules',
    path='inspection_rules',
    fields=(
        Field('uuid', 96, When.AT_CREATION),
        Field('created_at', 96),
        Field('updated_at', 96),
        # Ours. Responses have it only for rules that have a name.
        Field('name', Addition(96), When.ALWAYS),
        Field('description', 96, When.ALWAYS),
        Field('priority', 96, When.ALWAYS, 0),
        Field('sensitive', 96, When.ALWAYS, False),
        Field('phase', 96, When.ALWAYS, 'main', filter=Filter(Argument.TEXT)),
        Field('conditions', 96, When.ALWAYS, []),
        Field('actions', 96, When.ALWAYS),
    ),
    listed=('uuid', 'priority', 'phase', 'description', 'name'),
    required=('actions',),
    served_since=96,
    detail_since=96,
    names_since=96,
)
