"""The fields of volume connectors and volume targets."""

from ironic_traits.resources.fields import Argument, Field, Filter, Resource, Rule, When
from ironic_traits.resources.roles import READER_OF_ALL, any_of

CONNECTORS = Resource(
    name='volume_connectors',
    path='volume/connectors',
    fields=(
        Field('uuid', 32, When.AT_CREATION, is_listed=True),
        Field('created_at', 32),
        Field('updated_at', 32),
        Field('node_uuid', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field('type', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field('connector_id', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field('extra', 32, When.ALWAYS, {}),
    ),
    filters=(Filter(Argument.TEXT, 32, 'node'),),
    served_since=32,
    detail_since=32,
)

TARGETS = Resource(
    name='volume_targets',
    path='volume/targets',
    fields=(
        Field('uuid', 32, When.AT_CREATION, is_listed=True),
        Field('created_at', 32),
        Field('updated_at', 32),
        Field('node_uuid', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field('volume_type', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field('boot_index', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field('volume_id', 32, When.ALWAYS, is_required=True, is_listed=True),
        Field(
            *('properties', 32, When.ALWAYS, {}),
            show_rule=Rule(
                'baremetal:volume:view_target_properties',
                any_of(READER_OF_ALL, 'role:admin'),
                'See the properties of volume targets.',
            ),
            secrets_rule='show_password',
        ),
        Field('extra', 32, When.ALWAYS, {}),
    ),
    filters=(Filter(Argument.TEXT, 32, 'node'),),
    served_since=32,
    detail_since=32,
)
