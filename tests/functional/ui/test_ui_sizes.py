"""The web page with 10,000 nodes, and over many polls, in a real browser."""

import random
import re
import uuid

import pytest
from playwright.sync_api import expect

from benchmarks import bulk
from tests.functional.ui.test_ui_nodes import names
from tests.support import browser as browsers
from tests.support.service import ForkedServer, upgraded

NODES = 10_000
#: The most bytes that a browser loads until a view is complete, if it begins with that view. They are compressed.
MAX_BYTES = 150_000
#: Each tile of the racks asks for its nodes, and the list of reservations is long.
LONG = {'#/racks', '#/reservations'}
RACKS = 250


@pytest.fixture(scope='module')
def look_around(tmp_path_factory):
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("sizes")}/x.sqlite')
    chosen = random.Random(1)
    nodes = (
        (
            {
                'uuid': str(uuid.UUID(int=number + 1)),
                'name': f'node-{number:05}',
                'driver': 'fake-hardware',
                'resource_class': f'class-{number % 12}',
            },
            ['CUSTOM_A', f'CUSTOM_RACK_{number % RACKS}', *chosen.sample(['HW_CPU_X86_VMX', 'STORAGE_DISK_SSD'], 1)],
        )
        for number in range(NODES)
    )
    bulk.fill(url, nodes, reserved=0.02)
    with ForkedServer(url, '--nostart-worker') as running:
        yield running.base


@pytest.fixture
def big(browser, look_around):
    """A tab with an empty cache."""
    with browsers.tab(browser, look_around) as opened:
        yield opened


def _loaded(page):
    """Return the bytes of the network that the page has loaded."""
    return page.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        '.reduce((sum, each) => sum + each.transferSize, 0)'
    )


@pytest.mark.parametrize(
    ('place', 'text'),
    [
        ('#/overview', re.compile('10,000 nodes')),
        ('#/nodes', re.compile('1–50 of 10,000')),
        ('#/nodes?traits=CUSTOM_RACK_7', re.compile('40 nodes')),
        ('#/racks', re.compile('250 groups')),
        ('#/why?required=CUSTOM_NOPE', re.compile('No node has CUSTOM_NOPE; without it 9,7')),
        ('#/capacity', re.compile('class-11')),
        ('#/reservations', re.compile('node-')),
        ('#/changes', re.compile('The node was created')),
    ],
)
def test_each_view(big, place, text):
    """A view has what it says, few enough bytes, and no problem for axe."""
    page = big.open(place)
    expect(page.locator('main')).to_contain_text(text)
    page.wait_for_load_state('networkidle')
    big.check_accessibility()
    assert _loaded(page) < (1.5 * MAX_BYTES if place in LONG else MAX_BYTES)
    assert page.evaluate('document.documentElement.scrollWidth <= innerWidth')


def test_the_last_pages(big):
    page = big.open('#/nodes?limit=100')
    for link, position in (('Last', '9,901–10,000'), ('Previous', '9,801–9,900'), ('Previous', '9,701–9,800')):
        page.get_by_role('link', name=f'{link} page').click()
        expect(page.get_by_role('navigation', name='Pages')).to_contain_text(f'{position} of 10,000')
        first = int(position.partition('–')[0].replace(',', '')) - 1
        assert names(page) == [f'node-{number:05}' for number in range(first, first + 100)]


def test_a_change_of_all_nodes_of_a_class(big):
    """More nodes than one request may have are changed by several."""
    page = big.open('#/nodes?resource_class=class-3')
    expect(page.get_by_role('status').first).to_have_text('834 nodes')
    page.get_by_role('button', name='Change all', exact=True).click()
    page.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_NEW')
    page.get_by_role('button', name='Preview').click()
    page.get_by_role('button', name='Apply').click()
    expect(page.locator('.note strong')).to_have_text('834 nodes changed')
    big.open('#/nodes?traits=CUSTOM_NEW')
    expect(page.get_by_role('status').first).to_have_text('834 nodes')


def test_polls_keep_the_memory(big):
    """A tab that is open for hours keeps no node of the document, and no listener, of what it showed before."""
    big.page.clock.install()
    page = big.open('#/overview')
    expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
    session = page.context.new_cdp_session(page)
    session.send('Performance.enable')
    reads = []
    page.on(
        'requestfinished',
        lambda request: reads.append(request) if 'by=provision_state,maintenance' in request.url else None,
    )
    kept = []
    for number in (20, 60):
        while len(reads) < number:
            with page.expect_response(lambda response: '/v1/capacity_reservations' in response.url):
                page.clock.run_for(30000)
            page.wait_for_load_state('networkidle')
        session.send('HeapProfiler.collectGarbage')
        metrics = {each['name']: each['value'] for each in session.send('Performance.getMetrics')['metrics']}
        kept.append((metrics['Nodes'], metrics['JSEventListeners']))
    assert kept[0] == kept[1]
