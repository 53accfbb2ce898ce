"""A check of all statements that the tests compile: no subquery may select from a table of an enclosing statement.

SQLAlchemy correlates a subquery only to the statement directly around it. When a subquery two levels down refers to a
table of the outermost statement, SQLAlchemy silently adds that table to the subquery's own FROM. Then the condition
matches any of its rows. A statement that needs the same table twice must use an alias.
"""

from sqlalchemy.sql.compiler import SQLCompiler

from ironic_traits.db import tables


class NotCorrelated(AssertionError):
    """A subquery has a table of an enclosing statement in its own FROM."""


def install():
    """Check all statements that are compiled from now on, for any database."""
    visit_table = SQLCompiler.visit_table

    def visit_and_check(compiler, table, asfrom=False, **options):
        stack = compiler.stack
        is_alias = options.get('enclosing_alias') is not None
        # SQLAlchemy's own statements about the schema may use a table twice.
        ours = getattr(table, 'metadata', None) is tables.metadata
        if asfrom and ours and not is_alias and len(stack) > 1 and table in stack[-2]['correlate_froms']:
            raise NotCorrelated(f'{table.name} is in the FROM of a subquery, and of a statement around it')
        return visit_table(compiler, table, asfrom=asfrom, **options)

    SQLCompiler.visit_table = visit_and_check
