"""Traits, resource classes and resource providers; each node with a resource class is a provider

Revision ID: 0005
Revises: 0004
"""

import datetime

import os_resource_classes
import os_traits
import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, exact_string, timestamp

revision = '0005'
down_revision = '0004'


def upgrade():
    moment = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    _create_names('traits', os_traits.get_traits(), _read('SELECT DISTINCT trait FROM node_traits'), moment)
    classes = _read("SELECT DISTINCT resource_class FROM nodes WHERE resource_class <> ''")
    normalized = {name: os_resource_classes.normalize_name(name) for name in classes}
    _create_names('resource_classes', os_resource_classes.STANDARDS, normalized.values(), moment)
    _refer_to_traits()
    _create_providers()
    _create_what_providers_have()
    for name, class_name in normalized.items():
        _insert_providers(name, class_name, moment)


def _read(statement):
    return list(op.get_bind().scalars(sa.text(statement)))


def _create_names(table, standard, custom, moment):
    created = op.create_table(
        table,
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('name', ascii_string(255), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.PrimaryKeyConstraint('id', name=f'{table}_pkey'),
        sa.UniqueConstraint('name', name=f'{table}_name_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    # Insert the standard names in the library's order, because lists of resource classes have that order.
    names = [*standard, *sorted(set(custom).difference(standard))]
    # MariaDB has committed them if the migration was interrupted after this.
    existing = set(_read(f'SELECT name FROM {table}'))  # noqa: S608
    op.bulk_insert(created, [{'name': name, 'created_at': moment} for name in names if name not in existing])


def _refer_to_traits():
    """Add a foreign key to node_traits.trait."""
    name, columns = 'node_traits_trait_fkey', (['trait'], ['name'])
    if op.get_bind().dialect.name != 'sqlite':
        op.create_foreign_key(name, 'node_traits', 'traits', *columns)
        return
    # SQLite cannot add a constraint to a table: create the table again.
    op.create_table(
        'node_traits_new',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('trait', ascii_string(255), nullable=False),
        sa.PrimaryKeyConstraint('node_id', 'trait', name='node_traits_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='node_traits_node_id_fkey', ondelete='CASCADE'),
        sa.ForeignKeyConstraint(columns[0], ['traits.name'], name=name),
        sqlite_with_rowid=False,
    )
    op.execute('INSERT INTO node_traits_new (node_id, trait) SELECT node_id, trait FROM node_traits')
    op.drop_table('node_traits')
    op.rename_table('node_traits_new', 'node_traits')
    op.create_index('node_traits_trait_idx', 'node_traits', ['trait', 'node_id'])


def _create_providers():
    table = 'resource_providers'
    op.create_table(
        table,
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('name', exact_string(200), nullable=False),
        sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
        sa.Column('parent_provider_uuid', ascii_string(36)),
        sa.Column('root_provider_uuid', ascii_string(36), nullable=False),
        sa.Column('node_id', sa.Integer),
        sa.Column('resource_class_id', sa.Integer),
        sa.PrimaryKeyConstraint('id', name=f'{table}_pkey'),
        sa.UniqueConstraint('uuid', name=f'{table}_uuid_key'),
        sa.UniqueConstraint('name', name=f'{table}_name_key'),
        sa.UniqueConstraint('node_id', name=f'{table}_node_id_key'),
        sa.ForeignKeyConstraint(['parent_provider_uuid'], [f'{table}.uuid'], name=f'{table}_parent_provider_uuid_fkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name=f'{table}_node_id_fkey'),
        sa.ForeignKeyConstraint(['resource_class_id'], ['resource_classes.id'], name=f'{table}_resource_class_id_fkey'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    for column in ('parent_provider_uuid', 'root_provider_uuid', 'resource_class_id'):
        op.create_index(f'{table}_{column}_idx', table, [column])


def _create_what_providers_have():
    times = (sa.Column('created_at', timestamp(), nullable=False), sa.Column('updated_at', timestamp()))
    numbers = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size')
    classes = sa.ForeignKeyConstraint(
        ['resource_class_id'], ['resource_classes.id'], name='inventories_resource_class_id_fkey'
    )
    traits = sa.ForeignKeyConstraint(['trait_id'], ['traits.id'], name='resource_provider_traits_trait_id_fkey')
    _create_of_provider('resource_provider_traits', 'trait_id', sa.Integer, traits, sqlite_with_rowid=False)
    _create_of_provider('resource_provider_aggregates', 'aggregate_uuid', ascii_string(36), sqlite_with_rowid=False)
    _create_of_provider(
        'inventories',
        'resource_class_id',
        sa.Integer,
        *(sa.Column(number, sa.Integer, nullable=False) for number in numbers),
        sa.Column('allocation_ratio', sa.Double, nullable=False),
        *times,
        classes,
    )


def _create_of_provider(table, key, type_, *parts, **options):
    op.create_table(
        table,
        sa.Column('resource_provider_id', sa.Integer, nullable=False),
        sa.Column(key, type_, nullable=False),
        *parts,
        sa.PrimaryKeyConstraint('resource_provider_id', key, name=f'{table}_pkey'),
        sa.ForeignKeyConstraint(
            ['resource_provider_id'],
            ['resource_providers.id'],
            name=f'{table}_resource_provider_id_fkey',
            ondelete='CASCADE',
        ),
        mysql_engine='InnoDB',
        **options,
    )
    op.create_index(f'{table}_{key}_idx', table, [key, 'resource_provider_id'])


def _insert_providers(name, class_name, moment):
    """Insert a provider for each node with this resource class."""
    statement = sa.text(
        'INSERT INTO resource_providers (uuid, name, root_provider_uuid, created_at, node_id, resource_class_id) '
        'SELECT uuid, uuid, uuid, :moment, nodes.id, resource_classes.id FROM nodes, resource_classes '
        'WHERE nodes.resource_class = :name AND resource_classes.name = :class_name'
    )
    op.execute(statement.bindparams(sa.bindparam('moment', moment, timestamp()), name=name, class_name=class_name))
