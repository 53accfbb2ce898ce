"""The fields of deploy templates."""

from ironic_traits.resources.fields import NOBODY, Field, Resource, When

DEPLOY_TEMPLATES = Resource(
    name='deploy_templates',
    path='deploy_templates',
    fields=(
        Field('uuid', 55, When.AT_CREATION),
        Field('created_at', 55),
        Field('updated_at', 55),
        Field('name', 55, When.ALWAYS),
        Field('steps', 55, When.ALWAYS, secrets_rule=NOBODY),
        Field('extra', 55, When.ALWAYS, {}),
    ),
    listed=('uuid', 'name'),
    required=('steps', 'name'),
    served_since=55,
    detail_since=55,
    names_since=55,
)
