"""The types of columns, on every database."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.db.types import names_in
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
