"""A short search for requests that the service handles wrongly. ``tox -e fuzz`` runs the long one."""

from tests.support.service import upgraded

REQUESTS, SEED = 2000, 0


def test_search(tmp_path):
    # Import this late: schemathesis takes a second in each process that collects the tests.
    from tests.fuzz.search import search

    figures = search(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), REQUESTS, SEED)
    assert figures.problems == [], '\n'.join(map(ascii, figures.problems))
    # Many requests are refused, but enough must pass the early checks.
    succeeded = sum(number for status, number in figures.statuses.items() if status < 300)
    assert min(succeeded, figures.statuses[400]) > REQUESTS / 10


def test_the_page_has_the_figures_of_the_last_searches():
    from tests.fuzz import table

    page = table.PAGE.read_text()
    assert table.replaced(page, table.stored()) == page
