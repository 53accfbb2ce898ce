"""A check of every statement that tests compile: no subquery selects from a table of an enclosing statement.

SQLAlchemy correlates a subquery to the statement directly around it, and to no other.  A subquery two levels down that
names a table of the outermost statement silently gets that table into its own FROM, and then any of its rows will do.
A statement that needs a second look at the same table uses an alias.
"""

from sqlalchemy.sql.compiler import SQLCompiler

from ironic_traits.db.models import metadata


class NotCorrelated(AssertionError):
    """A subquery has a table of an enclosing statement in its own FROM."""


def install():
    """Check whatever is compiled from now on, for every database."""
    visit_table = SQLCompiler.visit_table

    def checked(compiler, table, asfrom=False, **options):
        stack = compiler.stack
        is_alias = options.get('enclosing_alias') is not None
        # SQLAlchemy's own statements about a schema look at its tables more than once.
        ours = getattr(table, 'metadata', None) is metadata
        if asfrom and ours and not is_alias and len(stack) > 1 and table in stack[-2]['correlate_froms']:
            raise NotCorrelated(f'{table.name} is in the FROM of a subquery, and of a statement around it')
        return visit_table(compiler, table, asfrom=asfrom, **options)

    SQLCompiler.visit_table = checked
