"""Marks statements that may be prepared. For these, the server plans less often (``db.drivers.psycopg_driver``).

psycopg2 and the drivers of other databases prepare no statements. There, the mark has no effect.
"""

from typing import Any, TypeVar

import sqlalchemy as sa

_OPTION = 'ironic_traits_prepared'
_Statement = TypeVar('_Statement', bound=sa.Executable)


def prepared(statement: _Statement) -> _Statement:
    """Return a SELECT that is prepared if the driver supports this.

    Its best plan must not depend on its parameters, because it finds its rows by a key.
    """
    return statement.execution_options(**{_OPTION: True})


def is_prepared(context: Any) -> bool:
    """Whether a statement is marked by ``prepared``.

    :param context: SQLAlchemy's context of an execution.
    """
    return _OPTION in context.execution_options
