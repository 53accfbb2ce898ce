"""The types of columns, on every database."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.db.types import names_in, unjoined
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


def test_unjoined_conditions(database, database_kind):
    """They select the same rows as the conditions. PostgreSQL reads their subqueries for each row."""
    identity = insert_node(database)
    statement = sa.select(tables.nodes.c.id).where(tables.nodes.c.id == identity)
    with_trait = sa.exists().where(tables.node_traits.c.node_id == tables.nodes.c.id)
    with database.read() as connection:
        for condition, result in ((~with_trait, [identity]), (with_trait, [])):
            assert connection.scalars(statement.where(condition)).all() == result
            assert connection.scalars(statement.where(unjoined(condition))).all() == result
            assert connection.scalars(statement.where(~unjoined(~condition))).all() == result
        if database_kind == 'postgresql':
            plans = []
            for condition in (~with_trait, unjoined(~with_trait)):
                text = statement.where(condition).compile(connection.engine, compile_kwargs={'literal_binds': True})
                plans.append('\n'.join(connection.exec_driver_sql(f'EXPLAIN {text}').scalars()))
            assert ['Join' in plan for plan in plans] == [True, False]
