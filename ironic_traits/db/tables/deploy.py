"""The tables of the work on nodes, of the workers, and of the steps that administrators define."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp
from ironic_traits.db.tables.base import metadata, records_table

transitions = sa.Table(
    'transitions',
    metadata,
    # A node has at most one transition.
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # One of deploy.states.ACTIONS.
    sa.Column('action', ascii_string(32), nullable=False),
    sa.Column('arguments', Json, nullable=False),
    # [step, …] of the action, with secrets; NULL if they are not determined yet, or if the action has none.
    sa.Column('steps', Json),
    # Number of the finished steps.
    sa.Column('step_index', sa.Integer, nullable=False, server_default='0'),
    # How often the driver has postponed this step.
    sa.Column('phase', sa.Integer, nullable=False, default=0),
    sa.Column('due_at', timestamp(), nullable=False),
    # Id of a worker's claim; NULL while no worker has claimed the transition.
    sa.Column('lease', ascii_string(36)),
    sa.Column('leased_until', timestamp()),
    # Number of claims in this phase, including the current one.
    sa.Column('attempts', sa.Integer, nullable=False, default=0),
    # When it was first claimed.
    sa.Column('begun_at', timestamp()),
    sa.Index(None, 'due_at'),
    mysql_engine='InnoDB',
)

# The processes that perform transitions. Heartbeats are times by the database's clock.
workers = sa.Table(
    'workers',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', ascii_string(36), nullable=False, unique=True),
    # Name of the worker's machine.
    sa.Column('hostname', exact_string(255), nullable=False),
    sa.Column('pid', sa.Integer, nullable=False),
    sa.Column('conductor_group', exact_string(255), nullable=False, default='', server_default=sa.text("''")),
    # [name of an enabled driver, …].
    sa.Column('drivers', Json, nullable=False),
    sa.Column('started_at', timestamp(), nullable=False),
    sa.Column('heartbeat_at', timestamp(), nullable=False),
    sa.Index(None, 'heartbeat_at'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

deploy_templates = records_table(
    'deploy_templates',
    # A trait. (There is no foreign key: any name of a trait is allowed, as in Ironic.)
    sa.Column('name', ascii_string(255), nullable=False, unique=True),
    # [step, …], with secrets.
    sa.Column('steps', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    # The steps with masked secrets (inventory/core/secrets.py).
    sa.Column('steps_masked', long_text()),
)

runbooks = records_table(
    'runbooks',
    sa.Column('name', exact_string(255), nullable=False, unique=True),
    sa.Column('description', exact_string(255)),
    # Whether all projects see it.
    sa.Column('public', sa.Boolean, nullable=False),
    sa.Column('owner', exact_string(255)),
    sa.Column('disable_ramdisk', sa.Boolean, nullable=False),
    sa.Column('extra', Json, nullable=False),
    # [{'interface': …, 'step': …, 'args': …, 'order': …}, …].
    sa.Column('steps', Json, nullable=False),
    # The steps with masked secrets.
    sa.Column('steps_masked', long_text()),
    sa.Index(None, 'owner'),
)

# The traits of runbooks. A node with one of them may be cleaned or serviced with the runbook. There is no foreign key
# to the traits, which can be deleted while a runbook names them.
runbook_traits = sa.Table(
    'runbook_traits',
    metadata,
    sa.Column('runbook_id', sa.Integer, sa.ForeignKey('runbooks.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), primary_key=True),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)
