"""The fields of volume connectors and volume targets."""

from ironic_traits.resources.fields import Argument, Field, Filter, Resource, Rule, When
from ironic_traits.resources.roles import READER_OF_ALL, any_of

CONNECTORS = Resource(
    name='volume_connectors',
    path='volume/connectors',
    fields=(
        Field('uuid', 32, When.AT_CREATION),
        Field('created_at', 32),
        Field('updated_at', 32),
        Field('node_uuid', 32, When.ALWAYS),
        Field('type', 32, When.ALWAYS),
        Field('connector_id', 32, When.ALWAYS),
        Field('extra', 32, When.ALWAYS, {}),
    ),
    listed=('uuid', 'node_uuid', 'type', 'connector_id'),
    required=('node_uuid', 'type', 'connector_id'),
    filters=(Filter(Argument.TEXT, 32, 'node'),),
    served_since=32,
    detail_since=32,
    identifiers=(('uuid',), ('type', 'connector_id')),
)

TARGETS = Resource(
    name='volume_targets',
    path='volume/targets',
    fields=(
        Field('uuid', 32, When.AT_CREATION),
        Field('created_at', 32),
        Field('updated_at', 32),
        Field('node_uuid', 32, When.ALWAYS),
        Field('volume_type', 32, When.ALWAYS),
        Field('boot_index', 32, When.ALWAYS),
        Field('volume_id', 32, When.ALWAYS),
        Field(
            'properties',
            32,
            When.ALWAYS,
            {},
            show_rule=Rule(
                'baremetal:volume:view_target_properties',
                any_of(READER_OF_ALL, 'role:admin'),
                'See the properties of volume targets.',
            ),
            secrets_rule='show_password',
        ),
        Field('extra', 32, When.ALWAYS, {}),
    ),
    listed=('uuid', 'node_uuid', 'volume_type', 'boot_index', 'volume_id'),
    required=('node_uuid', 'volume_type', 'boot_index', 'volume_id'),
    filters=(Filter(Argument.TEXT, 32, 'node'),),
    served_since=32,
    detail_since=32,
    identifiers=(('uuid',), ('boot_index',)),
)
