"""The first view of the web page, in a real browser: how the fleet is."""

import re

import pytest
from playwright.sync_api import expect

from tests.support import browser as browsers
from tests.support.service import ForkedServer, upgraded


@pytest.fixture
def timed(browser, look_around):
    """A tab with a clock of its own."""
    with browsers.tab(browser, look_around) as opened:
        yield opened


def rows(page, name):
    """Return the texts of the rows of a chart: the name first."""
    found = page.get_by_role('table', name=name).get_by_role('row').filter(has=page.get_by_role('rowheader'))
    return [row.inner_text().split() for row in found.all()]


def test_the_fleet(tab):
    page = tab.open('')
    expect(page).to_have_title('Overview – ironic-traits')
    expect(page.get_by_role('status').first).to_have_text('24 nodes')
    expect(page.get_by_role('table', name='Nodes for each flavor')).to_be_visible()
    assert rows(page, 'Nodes by state') == [['available', '18'], ['active', '3'], ['manageable', '3']]
    free = {row[0]: row[3:5] for row in rows(page, 'Nodes for each flavor')}
    assert free == {'gold': ['5', '1'], 'gpu': ['4', '1'], 'storage': ['6', '0']}
    expect(page.get_by_role('region', name='Failures')).to_contain_text('Last hour: 0, last day: 0')
    expect(page.get_by_role('region', name='Changes of the last hour').get_by_role('listitem')).to_have_count(6)
    tab.check_accessibility()


def test_more_classes_than_the_overview_shows(tab):
    counted = [{'value': f'class-{n}', 'matching': 1, 'free': 1, 'held': 0, 'unavailable': {}} for n in range(101)]

    def answer(route):
        document = route.fetch().json()
        [flavor] = document['flavors']
        flavor['by'] = {'resource_class': counted}
        route.fulfill(json=document)

    tab.page.route('**/v1/capacity', answer)
    page = tab.open('#/overview')
    card = page.get_by_role('region', name='Nodes by class')
    expect(card.get_by_text('and 1 other class')).to_be_visible()
    counted.append({**counted[0], 'value': 'last'})
    page.reload()
    card.get_by_role('link', name='2 other classes').click()
    expect(page.get_by_role('heading', level=1)).to_have_text('Racks')


@pytest.mark.parametrize(
    ('name', 'number'),
    [('1 node in maintenance', 1), ('gold', 8), ('manageable', 3), ('18 nodes in state available', 18)],
)
def test_each_figure_is_a_link_to_its_list(tab, name, number):
    page = tab.open('#/overview')
    page.get_by_role('main').get_by_role('link', name=name, exact=True).click()
    expect(page.get_by_role('heading', level=1)).to_have_text('Nodes')
    expect(page.locator('tbody tr')).to_have_count(number)


FAILING = {'name': 'c', 'failing_since': '2026-01-01T00:00:00Z', 'last_error': 'no route', 'waits_for': []}
FAILED = {'provision_state': [{'value': 'clean failed', 'nodes': 3}], 'maintenance': []}
#: {what is shown: the part of the API that says so, and what it says}.
WAITING = {
    '2 nodes missing for': ('capacity_reservations', [{'name': 'p', 'short': 2}]),
    '1 conflict with cloud c': ('mirrors', [{'name': 'c', 'conflicts': 1, 'waits_for': []}]),
    'The mirror of cloud c fails: no route': ('mirrors', [FAILING]),
    '3 nodes in state clean failed': ('facets', FAILED),
}


@pytest.mark.parametrize('words', WAITING)
def test_what_waits_for_a_person(tab, words):
    kind, content = WAITING[words]
    tab.page.route(f'**/v1/{kind}*', lambda route: route.fulfill(status=200, json={kind: content, 'nodes': 9}))
    page = tab.open('#/overview')
    expect(page.get_by_role('region', name='Waits for a person').get_by_role('link', name=words)).to_be_visible()


def test_failures(timed):
    """The service has failed before and within the last hour."""
    page = timed.page
    page.clock.set_fixed_time('2030-01-01T12:00:00Z')
    entry = '{"uuid": "%s", "node_uuid": "n", "node_name": "n", "created_at": "2030-01-01T%s:00Z", "event": "disk"}'
    entries = ', '.join(entry % (number, time) for number, time in enumerate(('11:30', '10:30', '09:30')))
    body = f'{{"history": [{entries}]}}'
    page.route('**/v1/history?*severity=ERROR*', lambda route: route.fulfill(status=200, body=body))
    page.route('**/v1/history?*limit=6', lambda route: route.fulfill(status=200, body='{"history": []}'))
    timed.open('#/overview')
    expect(page.get_by_role('region', name='Failures')).to_contain_text('Last hour: 1, last day: 3')
    expect(page.get_by_text('Nothing has changed.')).to_be_visible()
    page.unroute_all()
    page.get_by_role('link', name='All failures').click()
    expect(page.get_by_label('Result')).to_have_value('ERROR')
    expect(page.get_by_text('No entry matches these filters.')).to_be_visible()


@pytest.mark.parametrize(('link', 'label', 'since'), [('1', 'last hour', '11:00'), ('3', 'last day', '12:00')])
def test_each_number_of_failures_is_a_link_to_them(timed, link, label, since):
    page = timed.page
    page.clock.set_fixed_time('2030-01-01T12:00:00Z')
    times = ('2030-01-01T11:30', '2030-01-01T10:30', '2029-12-31T13:00')
    entries = [
        {
            'uuid': at,
            'node_uuid': 'n',
            'node_name': 'n',
            'created_at': f'{at}:00Z',
            'event': 'disk',
            'severity': 'ERROR',
        }
        for at in times
    ]
    page.route('**/v1/history?*severity=ERROR*', lambda route: route.fulfill(json={'history': entries}))
    page.route('**/v1/history?*limit=6', lambda route: route.fulfill(json={'history': []}))
    timed.open('#/overview')
    numbers = page.get_by_role('region', name='Failures').locator('p').first
    with page.expect_request('**/v1/history?*limit=50*') as request:
        numbers.get_by_role('link', name=link, exact=True).click()
    day = '2030-01-01' if since == '11:00' else '2029-12-31'
    assert f'since={day}T{since}:00.000Z' in request.value.url
    assert 'severity=ERROR' in request.value.url
    expect(page.get_by_label('When').locator('option:checked')).to_have_text(label)
    page.get_by_role('button', name='Filter').click()
    expect(page.get_by_label('When').locator('option:checked')).to_have_text(label)


def test_a_part_that_fails(tab):
    """The others are shown."""
    tab.expected = ['503']
    tab.page.route('**/v1/capacity', lambda route: route.fulfill(status=503, body='{}'))
    page = tab.open('#/overview')
    expect(page.get_by_role('region', name='Nodes by class').get_by_role('alert')).to_contain_text('status 503')
    expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
    page.unroute_all()
    page.get_by_role('button', name='Try again').click()
    expect(page.get_by_role('table', name='Nodes for each flavor')).to_be_visible()


def test_an_outage(tab):
    """It is said once, and one button loads everything again."""
    tab.expected = ['503']
    tab.page.route('**/v1/**', lambda route: route.fulfill(status=503, body='{}'))
    page = tab.open('#/overview')
    expect(page.get_by_role('alert')).to_have_count(1)
    expect(page.locator('.busy')).to_have_count(0)
    page.unroute_all()
    page.get_by_role('button', name='Try again').click()
    expect(page.get_by_role('table', name='Nodes for each flavor')).to_be_visible()
    expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
    expect(page.get_by_role('region', name='Changes of the last hour').get_by_role('listitem')).to_have_count(6)
    expect(page.get_by_role('alert')).to_have_count(0)


def test_states_that_fail(tab):
    """What else waits for a person is shown."""
    tab.expected = ['503']
    promise = {'name': 'a', 'short': 2}
    tab.page.route('**/v1/facets*', lambda route: route.fulfill(status=503, body='{}'))
    tab.page.route(
        '**/v1/capacity_reservations', lambda route: route.fulfill(json={'capacity_reservations': [promise]})
    )
    page = tab.open('#/overview')
    card = page.get_by_role('region', name='Waits for a person')
    expect(card).to_contain_text('2 nodes missing for capacity reservation a')
    page.unroute('**/v1/capacity_reservations')
    tab.page.reload()
    expect(page.get_by_role('table', name='Nodes for each flavor')).to_be_visible()
    expect(card.locator('.busy')).to_have_count(0)


def test_it_is_read_again(timed):
    """Every 30 seconds, while the tab is visible."""
    page, reads = timed.page, []
    page.clock.install()
    page.on('request', lambda request: reads.append(request.url) if '/v1/facets?by=prov' in request.url else None)
    timed.open('#/overview')
    expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
    timed.stop_clock()
    assert len(reads) == 2
    for number in (3, 4):
        page.clock.run_for(30000)
        expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
        assert len(reads) == number
    page.get_by_role('link', name='Rules', exact=True).click()
    page.clock.run_for(90000)
    assert len(reads) == 4


def test_without_nodes(browser, tmp_path):
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url, '--nostart-worker') as running, browsers.tab(browser, running.base) as tab:
        page = tab.open('')
        expect(page.get_by_text(re.compile('There are no nodes yet'))).to_be_visible()
        tab.check_accessibility()


def test_three_example_nodes(browser, tmp_path):
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url) as running, browsers.tab(browser, running.base) as tab:
        page = tab.open('#/nodes')
        page.get_by_role('button', name='Create three example nodes').click()
        expect(page.locator('tbody td.name')).to_have_text(['example-1', 'example-2', 'example-3'])
        tab.open('#/nodes?traits=CUSTOM_RACK_2')
        expect(page.locator('tbody td.name')).to_have_text(['example-2', 'example-3'])
        tab.open('#/overview')
        expect(page.get_by_role('status').first).to_have_text('3 nodes')


def test_example_nodes_in_part(browser, tmp_path):
    """Those that were created are shown. An outage of a service without nodes is shown, too."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url, '--nostart-worker') as running, browsers.tab(browser, running.base) as tab:
        tab.expected = ['503']
        page = tab.open('#/overview')
        expect(page.locator('.empty')).to_be_visible()
        page.route('**/v1/**', lambda route: route.fulfill(status=503, body='{}'))
        page.evaluate("dispatchEvent(new Event('ironic-traits.again'))")
        expect(page.get_by_role('alert')).to_contain_text('status 503')
        page.unroute('**/v1/**')
        tab.open('#/nodes')
        page.route('**/v1/nodes/*/traits', lambda route: route.fulfill(status=503, body='{}'))
        page.get_by_role('button', name='Create three example nodes').click()
        expect(page.get_by_role('alert')).to_contain_text('status 503')
        page.get_by_role('button', name='Look').click()
        expect(page.locator('tbody td.name')).to_have_text(['example-1'])


def test_figures_are_those_of_the_lists(browser, tmp_path):
    """Nodes without a class, and with an exclusive trait, count. Classes that are equal in Placement are two."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url, '--nostart-worker') as running, browsers.tab(browser, running.base) as tab:
        page, headers = tab.page, {'X-OpenStack-Ironic-API-Version': 'latest'}
        for number, (name, trait) in enumerate({'gold-1': 'RACK_1', 'gold_1': 'RACK_2', None: 'RACK_2'}.items(), 1):
            node = {'name': f'node-{number}', 'driver': 'fake-hardware', 'resource_class': name}
            assert page.request.post(f'{running.base}/v1/nodes', data=node, headers=headers).ok
            path = f'/v1/nodes/node-{number}/traits/CUSTOM_{trait}'
            assert page.request.put(running.base + path, headers=headers).ok
        exclusive = {'exclusive': True}
        assert page.request.patch(f'{running.base}/v1/traits/CUSTOM_RACK_2', data=exclusive, headers=headers).ok
        for view in ('capacity', 'overview'):
            tab.open(f'#/{view}')
            expect(page.get_by_role('rowheader').filter(has_text='gold_1')).to_be_visible()
            assert {row[0]: row[1] for row in rows(page, 'Nodes for each flavor')} == {
                'gold-1': '1',
                'gold_1': '1',
                '(none)': '1',
            }
        page.get_by_role('link', name='(none)').click()
        expect(page.locator('tbody td.name')).to_have_text(['node-3'])
        tab.open('#/racks')
        tile = page.locator('.tile').filter(has_text='RACK_2')
        expect(tile).to_contain_text('2 nodes')
        tile.get_by_role('link', name='RACK_2', exact=True).click()
        expect(page.locator('tbody td.name')).to_have_text(['node-2', 'node-3'])


def test_children_count_where_they_are_listed(browser, tmp_path):
    """In the drift, and in the graphs."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url, '--nostart-worker') as running, browsers.tab(browser, running.base) as tab:
        page, latest = tab.page, {'X-OpenStack-Ironic-API-Version': 'latest'}
        nodes, values, made = f'{running.base}/v1/nodes', {'resource_class': 'gold'}, []
        for name in ('server', 'card'):
            # Nodes of this version are available at once.
            document, old = {'driver': 'fake-hardware', 'name': name}, {'X-OpenStack-Ironic-API-Version': '1.10'}
            made.append(page.request.post(nodes, data=document, headers=old).json()['uuid'])
            patch = [{'op': 'add', 'path': f'/{key}', 'value': value} for key, value in values.items()]
            assert page.request.patch(f'{nodes}/{name}', data=patch, headers=latest).ok
            values |= {'parent_node': made[0]}
        assert page.request.put(f'{nodes}/card/traits/CUSTOM_CARD', headers=latest).ok
        tab.open('#/capacity?flavors={"a":{}}')
        page.get_by_role('link', name='1 node with CUSTOM_CARD').click()
        expect(page.locator('tbody td.name')).to_have_text(['card'])
        tab.open('#/overview')
        card = page.get_by_role('region', name='Available nodes over time')
        card.get_by_role('button', name='Show the last 30 days').click()
        assert [row.inner_text().split() for row in _graphs(card)] == [['gold', '0', '0', '2']]
        card.get_by_role('link', name='gold').click()
        expect(page.locator('tbody td.name')).to_have_text(['card', 'server'])


def test_available_nodes_over_time(tab):
    """The graphs begin with what the history says, and end with what is there now."""
    page = tab.open('#/overview')
    card = page.get_by_role('region', name='Available nodes over time')
    card.get_by_role('button', name='Show the last 30 days').click()
    numbers = {row.inner_text().split()[0]: row.inner_text().split()[1:] for row in _graphs(card)}
    assert numbers == {'gold': ['0', '0', '6'], 'gpu': ['0', '0', '5'], 'storage': ['0', '0', '7']}
    expect(card.locator('svg.graph')).to_have_count(3)
    expect(card).to_contain_text('In state “available” since')
    tab.check_accessibility()
    card.get_by_role('link', name='gpu').click()
    expect(page.get_by_role('status').first).to_have_text('5 nodes')


def test_graphs_of_a_long_history(tab):
    """If there are more entries than the page reads, the graphs begin later."""

    def answer(route):
        newest = route.fetch(url=f'{tab.base}/v1/history?limit=1&sort_dir=desc').json()['history'][0]
        entry = newest | {
            'event': 'The provision state changed from "cleaning" to "available".',
            'provision_state': 'available',
            'node_resource_class': 'gold',
        }
        route.fulfill(json={'history': [entry] * 1000, 'next': route.request.url})

    page = tab.open('#/overview')
    page.route(lambda url: 'event_type=provisioning' in url, answer)
    card = page.get_by_role('region', name='Available nodes over time')
    card.get_by_role('button', name='Show the last 30 days').click()
    expect(card).to_contain_text('the page reads at most 10,000 changes')


def _graphs(card):
    rows = card.locator('tbody tr')
    expect(rows.first).to_be_visible()
    return rows.all()


def test_the_age_of_what_is_shown(timed):
    """If the service fails, the figures stay, and the page says how old they are."""
    timed.expected = ['Failed to load resource']
    timed.page.clock.install()
    page = timed.open('#/overview')
    expect(page.get_by_role('table', name='Nodes by state')).to_be_visible()
    timed.stop_clock()
    page.route('**/v1/facets?*', lambda route: route.abort())
    page.clock.run_for(30000)
    alert = page.get_by_role('alert').first
    expect(alert).to_contain_text('What you see is from 30 seconds ago.')
    # It is written each second, and the first time a part of a second after the clock.
    page.clock.run_for(12500)
    expect(alert).to_contain_text('What you see is from 42 seconds ago.')
    assert rows(page, 'Nodes by state') == [['available', '18'], ['active', '3'], ['manageable', '3']]
    page.clock.resume()
    timed.check_accessibility()


def test_parts_that_fail_later(timed):
    """No part shows old figures as those of now."""
    timed.expected = ['503']
    timed.page.clock.install()
    page = timed.open('#/overview')
    titles = ('Failures', 'Changes of the last hour', 'Workers', 'Waits for a person')
    cards = [page.get_by_role('region', name=name, exact=True) for name in titles]
    for card in cards:
        expect(card.get_by_role('alert')).to_have_count(0)
    expect(cards[-1]).not_to_contain_text('Loading')
    timed.stop_clock()
    for path in ('history?*', 'conductors', 'capacity_reservations'):
        page.route(f'**/v1/{path}', lambda route: route.fulfill(status=503, body='{}'))
    page.clock.run_for(30000)
    for card in cards:
        expect(card.get_by_role('alert')).to_contain_text('What you see is from')


def test_what_waits_is_not_known(tab):
    """Without all answers, the page does not say that nothing waits."""
    tab.expected = ['503']
    tab.page.route('**/v1/capacity_reservations', lambda route: route.fulfill(status=503, body='{}'))
    page = tab.open('#/overview')
    card = page.get_by_role('region', name='Waits for a person')
    expect(card.get_by_role('alert')).to_contain_text('status 503')
    expect(card).not_to_contain_text('Nothing.')


def test_a_view_that_does_not_exist(tab):
    page = tab.open('#/nosuchview')
    expect(page.get_by_text('There is no such view.')).to_be_visible()
    expect(page).to_have_title('No such view – ironic-traits')
    page.get_by_role('main').get_by_role('link', name='Overview').click()
    expect(page.get_by_role('heading', level=1)).to_have_text('Overview')
