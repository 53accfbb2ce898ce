"""The fields of runbooks."""

from ironic_traits.resources.fields import NOBODY, Argument, Field, Filter, Resource, Rule, When
from ironic_traits.resources.roles import SYSTEM_MEMBER

RUNBOOKS = Resource(
    name='runbooks',
    path='runbooks',
    fields=(
        Field('uuid', 92, When.AT_CREATION),
        Field('created_at', 92),
        Field('updated_at', 92),
        Field('name', 92, When.ALWAYS),
        Field('description', 112, When.ALWAYS),
        Field('extra', 92, When.ALWAYS, {}),
        Field(
            'public',
            92,
            When.ALWAYS,
            False,
            change_rule=Rule(
                'baremetal:runbook:update:public', SYSTEM_MEMBER, 'Change whether a runbook is visible to all projects.'
            ),
        ),
        Field(
            'owner',
            92,
            When.ALWAYS,
            change_rule=Rule('baremetal:runbook:update:owner', SYSTEM_MEMBER, 'Change the owner of a runbook.'),
        ),
        Field('disable_ramdisk', 92, When.ALWAYS, False),
        Field('steps', 92, When.ALWAYS, secrets_rule=NOBODY),
        # Clients change them below the runbook.
        Field('traits', 112, is_column=False),
    ),
    listed=('uuid', 'name'),
    required=('steps', 'name'),
    filters=(Filter(Argument.TEXT, 92, 'project'),),
    served_since=92,
    detail_since=92,
    names_since=92,
)
