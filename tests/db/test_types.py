"""The types of columns, on every database."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.db.statements.types import names_in, no_row, no_row_of_few
from tests.support.rows import insert_node
from tests.support.service import make_conf


@pytest.fixture
def database(database_url):
    database = Database(make_conf(database_url))
    yield database
    database.close()


@pytest.mark.parametrize(
    ('names', 'result'),
    [
        ([], []),
        (['HW_CPU_X86_VMX'], ['HW_CPU_X86_VMX']),
        (
            ['STORAGE_DISK_SSD', 'HW_CPU_X86_VMX', 'HW_CPU_X86_AVX'],
            ['HW_CPU_X86_AVX', 'HW_CPU_X86_VMX', 'STORAGE_DISK_SSD'],
        ),
    ],
)
def test_joined_names_are_read_as_a_sorted_list(database, names, result):
    traits = sa.select(names_in(tables.traits.c.name).label('traits')).where(tables.traits.c.name.in_(names))
    with database.read() as connection:
        assert connection.scalar(traits) == result
        # The same in a subquery, and in the second SELECT of a UNION.
        assert connection.scalar(sa.select(traits.scalar_subquery())) == result
        nothing = traits.where(sa.false())
        assert sorted(connection.scalars(nothing.union_all(traits))) == sorted([[], result])


@pytest.mark.parametrize('no', [no_row, no_row_of_few])
def test_no_row(database, database_kind, no):
    """It selects the same rows as NOT EXISTS. The database looks for the row each time, and reads no whole table."""
    identity = insert_node(database)
    statement = sa.select(tables.nodes.c.id)
    with_trait = sa.exists().where(tables.node_traits.c.node_id == tables.nodes.c.id).correlate(tables.nodes)
    same = tables.nodes.alias()
    is_there = sa.exists().where(same.c.id == tables.nodes.c.id).correlate(tables.nodes)
    of_this = statement.where(tables.nodes.c.id == identity)
    with database.read() as connection:
        assert connection.scalars(of_this.where(no(with_trait))).all() == [identity]
        assert connection.scalars(of_this.where(~no(with_trait))).all() == []
        assert connection.scalars(of_this.where(no(is_there))).all() == []
        assert connection.scalars(of_this.where(~no(is_there))).all() == [identity]
        if database_kind == 'postgresql':
            text = statement.where(no(with_trait)).compile(connection.engine, compile_kwargs={'literal_binds': True})
            plan = '\n'.join(connection.exec_driver_sql(f'EXPLAIN {text}').scalars())
            assert ('Join' in plan, 'hashed' in plan) == (no is no_row, False)
