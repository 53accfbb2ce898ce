"""The web page with many nodes, and over many polls, in a real browser."""

import datetime
import json
import os
import random
import uuid

import pytest
from playwright.sync_api import expect

from benchmarks import bulk
from tests.functional.ui.test_ui_nodes import names
from tests.support import browser as browsers
from tests.support import http_client
from tests.support.service import ForkedServer, upgraded

POLL = datetime.timedelta(seconds=30)
#: How often a tab polls. 2,880 polls are a day.
POLLS = int(os.environ.get('IRONIC_TRAITS_POLLS', '60'))
#: The most bytes that a browser loads until a view is complete, if it begins with that view. They are compressed.
MAX_BYTES = 150_000
#: Each tile of the racks asks for its nodes.
LONG = {'#/racks'}
RACKS = 250


@pytest.fixture(scope='module', params=[10_000, 100_000])
def number(request):
    """The number of the nodes."""
    return request.param


@pytest.fixture(scope='module')
def look_around(tmp_path_factory, number):
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("sizes")}/x.sqlite')
    chosen = random.Random(1)
    nodes = (
        (
            {
                'uuid': str(uuid.UUID(int=place + 1)),
                'name': f'node-{place:05}',
                'driver': 'fake-hardware',
                'resource_class': f'class-{place % 12}',
            },
            ['CUSTOM_A', f'CUSTOM_RACK_{place % RACKS}', *chosen.sample(['HW_CPU_X86_VMX', 'STORAGE_DISK_SSD'], 1)],
        )
        for place in range(number)
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
        ('#/overview', '{all:,} nodes'),
        ('#/nodes', '1–50 of {all:,}'),
        ('#/nodes?traits=CUSTOM_RACK_7', '{rack} nodes'),
        ('#/racks', f'{RACKS} groups'),
        ('#/why?required=CUSTOM_NOPE', 'No node has CUSTOM_NOPE; without it {free:,} match'),
        ('#/capacity', 'class-11'),
        ('#/reservations', 'node-'),
        ('#/changes', 'The node was created'),
    ],
)
def test_each_view(big, look_around, number, place, text):
    """A view has what it says, few enough bytes, and no problem for axe."""
    newest = {'X-OpenStack-Ironic-API-Version': 'latest'}
    free = json.loads(http_client.ask(look_around, 'GET', '/v1/facets?reserved=false', headers=newest)[2])['nodes']
    page = big.open(place)
    expect(page.locator('main')).to_contain_text(text.format(all=number, rack=number // RACKS, free=free))
    page.wait_for_load_state('networkidle')
    big.check_accessibility()
    assert _loaded(page) < (1.5 * MAX_BYTES if place in LONG else MAX_BYTES)
    assert page.evaluate('document.documentElement.scrollWidth <= innerWidth')


def test_the_last_pages(big, number):
    page = big.open('#/nodes?limit=100')
    for first, link in ((number - 100, 'Last'), (number - 200, 'Previous'), (number - 300, 'Previous')):
        page.get_by_role('link', name=f'{link} page').click()
        position = f'{first + 1:,}–{first + 100:,} of {number:,}'
        expect(page.get_by_role('navigation', name='Pages')).to_contain_text(position)
        assert names(page) == [f'node-{place:05}' for place in range(first, first + 100)]


def test_a_change_of_all_nodes_of_a_class(big, number):
    """More nodes than one request may have are changed by several."""
    changed = f'{len(range(3, number, 12)):,} nodes'
    page = big.open('#/nodes?resource_class=class-3')
    expect(page.get_by_role('status').first).to_have_text(changed)
    page.get_by_role('button', name='Change all', exact=True).click()
    page.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_NEW')
    page.get_by_role('button', name='Preview').click()
    page.get_by_role('button', name='Apply').click()
    expect(page.locator('.note strong')).to_have_text(f'{changed} changed')
    big.open('#/nodes?traits=CUSTOM_NEW')
    expect(page.get_by_role('status').first).to_have_text(changed)


def _collected(session):
    """Return the metrics of a tab after its garbage is collected."""
    session.send('HeapProfiler.collectGarbage')
    return {each['name']: each['value'] for each in session.send('Performance.getMetrics')['metrics']}


def test_polls_keep_the_memory(big):
    """A tab that is open for hours keeps no node of the document, and no listener, of what it showed before."""
    # The clock of the browser reaches the present at the end: the service refuses times in the future.
    big.page.clock.install(time=datetime.datetime.now(datetime.UTC) - POLLS * POLL)
    page = big.open('#/overview')
    expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
    session = page.context.new_cdp_session(page)
    session.send('Performance.enable')
    kept, heaps = [], []
    for polls in (POLLS // 3, POLLS - POLLS // 3):
        for _ in range(polls):
            with page.expect_response(lambda response: 'by=provision_state,maintenance' in response.url):
                page.clock.run_for(POLL / datetime.timedelta(milliseconds=1))
            page.wait_for_load_state('networkidle')
        # One collection leaves what waits for its end, such as responses.
        collected = [_collected(session) for _ in range(3)]
        kept.append((collected[-1]['Nodes'], collected[-1]['JSEventListeners']))
        heaps.append(min(each['JSHeapUsedSize'] for each in collected))
    assert kept[0] == kept[1]
    assert heaps[1] < 1.2 * heaps[0]
