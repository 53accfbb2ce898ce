"""The table of the mutation score."""

from tests.mutation import table


def test_the_page_has_the_numbers_of_the_last_runs():
    page = table.PAGE.read_text()
    assert table.replaced(page, table.stored()) == page
