"""Resource classes: list, show, add, rename, delete."""

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import names
from ironic_traits.db.engine import retried
from ironic_traits.db.models import resource_classes, resource_providers
from ironic_traits.db.types import now
from ironic_traits.placement import failures


def find(context):
    """List all resource classes.

    :returns: rows with ``name``, ``created_at``, ``updated_at``, in the order in which they came to be.
    """
    with context.read() as connection:
        return connection.execute(sa.select(resource_classes).order_by(resource_classes.c.id)).all()


def get(context, name):
    """Give one resource class.

    :returns: a row.
    :raises failures.ResourceClassNotFound: there is none.
    """
    with context.read() as connection:
        return _read(connection, name)


@retried
def create(context, name):
    """Add a custom resource class.  It may be there already.

    :returns: whether it is new.
    """
    with context.write() as connection:
        return bool(names.ensure(connection, resource_classes, [name]))


@retried
def rename(context, name, new_name):
    """Give a custom resource class another name.

    :returns: its row.
    :raises failures.ResourceClassNotFound: there is none.
    :raises failures.BadRequest: it is a standard one.
    :raises failures.Conflict: the new name is taken, or nodes give the class its name.
    """
    try:
        with context.write() as connection:
            row = _lock(connection, name)
            _check_custom(name, f'Cannot update standard resource class {name}')
            # Nodes that take the class lock it, too: they are here by now, or do not find the old name any more.
            if connection.scalar(sa.select(sa.exists().where(resource_providers.c.resource_class_id == row.id))):
                raise failures.Conflict(reason=f'Resource class {name} has its name from the class of nodes.')
            connection.execute(
                sa.update(resource_classes)
                .where(resource_classes.c.id == row.id)
                .values(name=new_name, updated_at=now())
            )
            return _read(connection, new_name)
    except db_exception.DBDuplicateEntry as error:
        raise failures.Conflict(reason=f'Resource class already exists: {new_name}') from error


@retried
def delete(context, name):
    """Delete a custom resource class.

    :raises failures.ResourceClassNotFound: there is none.
    :raises failures.BadRequest: it is a standard one.
    :raises failures.Conflict: an inventory is of it.
    """
    with context.write() as connection:
        _read(connection, name)
        told = 'Error in delete resource class: Cannot delete'
        _check_custom(name, f'{told} standard resource class {name}.')
        if not names.delete(connection, resource_classes, name):
            raise failures.Conflict(reason=f'{told} resource class {name}. Class is in use in inventory.')


def check(connection, wanted):
    """Give {name: id} of resource classes that must all be there.

    :param wanted: names.
    :raises failures.ResourceClassNotFound: one is not.
    """
    found = names.ids(connection, resource_classes, wanted)
    for name in wanted:
        if name not in found:
            raise failures.ResourceClassNotFound(name=name)
    return found


def _check_custom(name, reason):
    if not name.startswith(names.PREFIX):
        raise failures.BadRequest(reason=reason)


def _read(connection, name):
    row = names.read(connection, resource_classes, name)
    if row is None:
        raise failures.ResourceClassNotFound(name=name)
    return row


def _lock(connection, name):
    """Lock a resource class until the end of the transaction, and return its row.

    :param connection: of a writer.
    :raises failures.ResourceClassNotFound: there is none.
    """
    known = _read(connection, name)
    same = resource_classes.c.id == known.id, resource_classes.c.name == name
    row = connection.execute(sa.select(resource_classes).where(*same).with_for_update()).first()
    if row is None:
        raise failures.ResourceClassNotFound(name=name)
    return row
