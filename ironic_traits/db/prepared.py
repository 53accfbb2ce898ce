"""The statements that may be prepared, which saves the server most of their plans (``db.psycopg_driver``).

psycopg2 and the drivers of other databases prepare nothing. There, the option has no effect.
"""

from typing import Any, TypeVar

import sqlalchemy as sa

_OPTION = 'ironic_traits_prepared'
_Statement = TypeVar('_Statement', bound=sa.Executable)


def prepared(statement: _Statement) -> _Statement:
    """Return a SELECT that is prepared if the driver can.

    Its best plan must not depend on its parameters: it finds its rows by a key.
    """
    return statement.execution_options(**{_OPTION: True})


def is_prepared(context: Any) -> bool:
    """Whether a statement is one of ``prepared``.

    :param context: SQLAlchemy's context of an execution.
    """
    return _OPTION in context.execution_options
