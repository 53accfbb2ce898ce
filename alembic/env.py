"""Environment of the migrations: alembic uses the connection of the caller, or ``-x database=URL`` for developers."""

import sqlalchemy as sa
from alembic import context

from ironic_traits.db.models import metadata


def run(connection):
    """Run the migrations on a connection, in its transaction."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


connection = context.config.attributes.get('connection')
if connection is not None:
    run(connection)
else:
    with sa.create_engine(context.get_x_argument(as_dictionary=True)['database']).begin() as connection:
        run(connection)
