"""How alembic reaches the database: over the connection it is given, or over ``-x database=URL`` for developers."""

import sqlalchemy as sa
from alembic import context

from ironic_traits.db.models import metadata


def run(connection):
    """Run the migrations over one connection, inside its transaction."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


connection = context.config.attributes.get('connection')
if connection is not None:
    run(connection)
else:
    with sa.create_engine(context.get_x_argument(as_dictionary=True)['database']).begin() as connection:
        run(connection)
