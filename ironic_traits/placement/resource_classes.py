"""Resource classes: list, show, add, rename, delete."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.types import now
from ironic_traits.placement import failures


def find(context: Context) -> Sequence[sa.Row]:
    """List all resource classes.

    :returns: [row with ``name``, ``created_at``, ``updated_at``, …], in the order of their creation.
    """
    with context.read() as connection:
        return connection.execute(sa.select(tables.resource_classes).order_by(tables.resource_classes.c.id)).all()


def get(context: Context, name: str) -> sa.Row:
    """Return a resource class.

    :returns: row with ``name``, ``created_at``, ``updated_at``.
    """
    with context.read() as connection:
        return _read(connection, name)


@retried
def create(context: Context, name: str) -> bool:
    """Create a custom resource class unless it exists.

    :param name: a valid name, CUSTOM_….
    :returns: whether it is new.
    """
    with context.write() as connection:
        return bool(names.ensure(connection, tables.resource_classes, [name]))


@retried
def rename(context: Context, name: str, new_name: str) -> sa.Row:
    """Rename a custom resource class.

    :param name: its present name.
    :param new_name: a valid name, CUSTOM_….
    :returns: its row.
    :raises failures.BadRequest: it is a standard resource class.
    :raises failures.Conflict: the new name is taken, or nodes have the resource class.
    """
    try:
        with context.write() as connection:
            row = _lock(connection, name)
            _check_custom(name, f'Cannot update standard resource class {name}')
            # A transaction that gives a node this class locks the class, too: either its node is visible here, or it
            # does not find the old name.
            of_nodes = sa.exists().where(tables.resource_providers.c.resource_class_id == row.id)
            if connection.scalar(sa.select(of_nodes)):
                raise failures.Conflict(reason=f'Resource class {name} cannot be renamed: nodes have it.')
            update = sa.update(tables.resource_classes).where(tables.resource_classes.c.id == row.id)
            connection.execute(update.values(name=new_name, updated_at=now()))
            return _read(connection, new_name)
    except db_exception.DBDuplicateEntry as error:
        raise failures.Conflict(reason=f'Resource class already exists: {new_name}') from error


@retried
def delete(context: Context, name: str) -> None:
    """Delete a custom resource class.

    :raises failures.BadRequest: it is a standard resource class.
    :raises failures.Conflict: an inventory, an allocation or a node has it.
    """
    with context.write() as connection:
        _lock(connection, name)
        message = 'Error in delete resource class: Cannot delete'
        _check_custom(name, f'{message} standard resource class {name}.')
        if not names.delete(connection, tables.resource_classes, name):
            raise failures.Conflict(reason=f'{message} resource class {name}. Class is in use in inventory.')


def check(connection: sa.Connection, class_names: Collection[str]) -> dict[str, int]:
    """Return the ids of resource classes, all of which must exist.

    :returns: {name: id}.
    :raises failures.ResourceClassNotFound: one of them does not exist.
    """
    ids = names.ids(connection, tables.resource_classes, class_names)
    for name in class_names:
        if name not in ids:
            raise failures.ResourceClassNotFound(name=name)
    return ids


def _check_custom(name: str, reason: str) -> None:
    if not name.startswith(names.PREFIX):
        raise failures.BadRequest(reason=reason)


def _read(connection: sa.Connection, name: str) -> sa.Row:
    row = names.read(connection, tables.resource_classes, name)
    if row is None:
        raise failures.ResourceClassNotFound(name=name)
    return row


def _lock(connection: sa.Connection, name: str) -> sa.Row:
    """Lock a resource class until the end of the transaction, and return its row."""
    row = names.lock(connection, tables.resource_classes, name)
    if row is None:
        raise failures.ResourceClassNotFound(name=name)
    return row
