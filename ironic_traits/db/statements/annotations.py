"""Types of the parts of statements, for annotations."""

from typing import Any

import sqlalchemy as sa

#: A condition of a statement.
Condition = sa.ColumnElement[bool]
#: The columns of a SELECT.
Columns = tuple[sa.ColumnElement[Any], ...]
#: {column: value}.
Values = dict[str, Any]
