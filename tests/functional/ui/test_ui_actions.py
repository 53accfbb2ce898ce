"""Actions on the web page, in a real browser: the requests of the page after them, and during work on a node."""

import json
import re

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect

from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from tests.support import browser as browsers
from tests.support.client import Client
from tests.support.concurrency import wait_until
from tests.support.mirrored_nodes import UUIDS, Store
from tests.support.service import ForkedServer, finish_work, make_app, upgraded

INSTANCES = [f'c0ffee00-0000-4000-8000-{number:012}' for number in range(3)]
#: Milliseconds for which the page requests a node each second.
QUICK_LOOKS = 120 * 1000


class Site:
    """A service without a worker. The test performs its work.

    :param app: application with the database of the service.
    :ivar base: URL of the service.
    """

    def __init__(self, app, base):
        self.app, self.base, self.client = app, base, Client(app)

    def available(self, name):
        """Create a node, make it available, and return its uuid."""
        uuid = self.client.node(name=name, resource_class='gold')['uuid']
        for verb in ('manage', 'provide'):
            self.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': verb})
            self.work()
        return uuid

    def reserve(self, uuid, instance=INSTANCES[0]):
        """Reserve a node, and return the uuid of the reservation."""
        document = {'node_uuid': [uuid], 'instance_uuid': instance}
        return self.ask('POST', '/v1/reservations', document)['reservation']['uuid']

    def work(self):
        """Perform all due work."""
        finish_work(self.app)

    def ask(self, method, path, document=None):
        """Send a request, which must succeed, and return the document of the response."""
        response = self.client.ask(method, path, document)
        assert response.status_int < 300, response.text
        return json.loads(response.text) if response.text else None


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("actions")}/x.sqlite')
    with make_app(url) as app, ForkedServer(url, '--nostart-worker') as running:
        yield Site(app, running.base)


@pytest.fixture(scope='module')
def far(site):
    """A mirror of the cloud "far"."""
    return Store(site.app.service, 'far')


@pytest.fixture
def tab(user, site):
    with browsers.tab_in(user, site.base) as opened:
        yield opened


@pytest.fixture
def timed(browser, site):
    """A tab whose clock the test advances."""
    with browsers.tab(browser, site.base) as opened:
        opened.page.clock.install()
        yield opened


class Requests:
    """The requests of a page whose URL matches a pattern.

    :ivar urls: URLs of the sent requests.
    """

    def __init__(self, page, pattern):
        self._page, self._pattern, self.urls, self._number = page, re.compile(pattern), [], 0
        page.on('request', lambda request: self._pattern.search(request.url) and self.urls.append(request.url))
        page.on('requestfinished', self._count)
        page.on('requestfailed', self._count)

    def _count(self, request):
        self._number += bool(self._pattern.search(request.url))

    def wait(self):
        """Wait for the responses."""
        # Playwright notices responses only while it waits itself.
        wait_until(lambda: self._number >= len(self.urls) or self._page.wait_for_timeout(20))


def test_long_work_is_followed_to_its_end(timed, site):
    uuid = site.available('slow')
    looks = Requests(timed.page, rf'/v1/nodes/{uuid}\?fields=')
    page = timed.open(f'#/nodes/{uuid}')
    site.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'power on'})
    page.reload()
    busy = page.get_by_text('A worker works on the node')
    expect(busy).to_be_visible()
    page.clock.run_for(QUICK_LOOKS + 5000)
    looks.wait()
    expect(busy).to_be_visible()
    number = len(looks.urls)
    for _ in range(10):
        page.clock.run_for(1000)
        looks.wait()
    # One request in 10 seconds, and more only if the test itself takes long.
    assert len(looks.urls) - number <= 5
    site.work()
    page.clock.run_for(15000)
    expect(busy).to_have_count(0)
    expect(page.get_by_role('button', name='power on')).to_have_count(0)


def test_a_change_during_work_is_loaded_once(timed, far):
    """A change of only the power state during work is loaded once."""
    work = {'provision_state': 'deploying', 'target_provision_state': 'active', 'reservation': 'conductor-1'}
    far.nodes({'number': 1, 'name': 'deploying', **work})
    loads = Requests(timed.page, rf'/v1/nodes/{UUIDS[1]}$')
    looks = Requests(timed.page, rf'/v1/nodes/{UUIDS[1]}\?fields=')
    page = timed.open(f'#/nodes/{UUIDS[1]}')
    expect(page.get_by_text('A worker works on the node')).to_be_visible()
    far.nodes({'number': 1, 'name': 'deploying', **work, 'power_state': 'power on'})
    page.clock.run_for(1500)
    expect(page.get_by_role('region', name='State').get_by_text('power on', exact=True)).to_be_visible()
    assert len(loads.urls) == 2
    for _ in range(5):
        page.clock.run_for(1000)
        looks.wait()
    assert len(loads.urls) == 2


def test_a_node_that_waits_is_followed(timed, site):
    """The page follows a node that waits without a lock, such as in "clean wait"."""
    uuid = site.client.node(name='waiting')['uuid']
    of_node = sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid)
    with site.app.service.write() as connection:
        connection.execute(of_node.values(provision_state='clean wait', target_provision_state='available'))
    page = timed.open(f'#/nodes/{uuid}')
    expect(page.get_by_text('The node waits for its machine')).to_be_visible()
    # The requests for all fields fail at first. The page tries again. Its clock runs on by itself, so they must fail
    # before the node changes.
    timed.expected = ['Failed to load resource']
    every_field = re.compile(rf'/v1/nodes/{uuid}$')
    page.route(every_field, lambda route: route.abort())
    with site.app.service.write() as connection:
        connection.execute(of_node.values(provision_state='available', target_provision_state=None))
    page.clock.run_for(1500)
    expect(page.get_by_role('alert')).to_contain_text('The service does not answer.')
    page.unroute(every_field)
    page.clock.run_for(2000)
    expect(page.get_by_text('The node waits for its machine')).to_be_hidden()
    expect(page.get_by_role('button', name='deploy')).to_be_visible()


def test_a_node_with_many_entries(tab, site):
    """The API returns 1,000 entries at most in a response. The page shows all."""
    uuid = site.client.node(name='old')['uuid']
    entry = {'node_uuid': uuid, 'created_at': now(), 'event_type': 'power', 'severity': 'INFO', 'event': 'x'}
    rows = [{**entry, 'uuid': f'e0e0e0e0-0000-4000-8000-{number:012}'} for number in range(1030)]
    with site.app.service.write() as connection:
        connection.execute(sa.insert(tables.node_history), rows)
    page = tab.open(f'#/nodes/{uuid}')
    older = page.get_by_role('button', name='Show older entries')
    for shown in (30, 120, 480):
        expect(page.locator('.timeline li')).to_have_count(shown)
        older.click()
    # The creation of the node is an entry, too.
    expect(page.locator('.timeline li')).to_have_count(1031)
    expect(older).to_have_count(0)


def test_a_node_that_is_deleted_during_work(timed, site):
    timed.expected = ['404', 'Failed to load resource']
    uuid = site.available('doomed')
    site.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'power on'})
    page = timed.open(f'#/nodes/{uuid}')
    expect(page.get_by_text('A worker works on the node')).to_be_visible()
    # A look between the end of the work and the deletion would be the last one.
    looks = re.compile(rf'/v1/nodes/{uuid}\?fields=')
    page.route(looks, lambda route: route.abort())
    site.work()
    site.ask('DELETE', f'/v1/nodes/{uuid}')
    page.unroute(looks)
    page.clock.run_for(1500)
    expect(page.get_by_role('alert').first).to_contain_text('could not be found')


def test_a_mirrored_node_follows_actions(tab, far, site):
    """The page follows actions on a mirrored node, although they do not change its ``updated_at``."""
    far.nodes({'name': 'mirrored'})
    updated_at = site.ask('GET', f'/v1/nodes/{UUIDS[0]}')['updated_at']
    page = tab.open(f'#/nodes/{UUIDS[0]}')
    latest = page.locator('.timeline li').first
    expect(latest).to_be_visible()
    expect(page.get_by_text('manages this node. Change its state there.')).to_be_visible()
    for name in ('power on', 'Set maintenance', 'manage'):
        expect(page.get_by_role('button', name=name)).to_have_count(0)
    browsers.reserve_and_release(page)
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Add a trait').fill('CUSTOM_NEW')
    page.get_by_label('Add a trait').press('Enter')
    page.get_by_role('button', name='Preview').click()
    page.get_by_role('button', name='Apply').click()
    expect(page.get_by_role('region', name='Traits and their sources')).to_contain_text('CUSTOM_NEW')
    expect(latest).to_contain_text('CUSTOM_NEW')
    assert site.ask('GET', f'/v1/nodes/{UUIDS[0]}')['updated_at'] == updated_at


def test_traits_of_a_mirrored_node_after_another_action(tab, far, site):
    """The page shows traits that another client has edited when it loads the node again."""
    far.nodes({'number': 2, 'name': 'edited'})
    page = tab.open(f'#/nodes/{UUIDS[2]}')
    expect(page.get_by_text('The node has no traits.')).to_be_visible()
    site.ask('PUT', f'/v1/nodes/{UUIDS[2]}/traits/CUSTOM_OTHER')
    page.get_by_text('Reserve it').click()
    page.get_by_role('button', name='Reserve', exact=True).click()
    expect(page.get_by_role('region', name='Traits and their sources')).to_contain_text('CUSTOM_OTHER')


def test_an_edit_that_is_refused(tab, site):
    """If another client has changed the traits since the preview, the editor shows the current ones."""
    tab.expected = ['409']
    uuid = site.available('edited-twice')
    site.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_OLD', 'CUSTOM_STAYS']})
    page = tab.open(f'#/nodes/{uuid}')
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Remove CUSTOM_OLD').click()
    for name in ('CUSTOM_NEW', 'CUSTOM_OTHER'):
        page.get_by_label('Add a trait').fill(name)
        page.get_by_label('Add a trait').press('Enter')
    page.get_by_role('button', name='Preview').click()
    apply = page.get_by_role('button', name='Apply')
    expect(apply).to_be_visible()
    site.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_OTHER', 'CUSTOM_STAYS']})
    apply.click()
    expect(page.get_by_role('alert').first).to_be_visible()
    expect(page.get_by_label('Remove CUSTOM_OTHER')).to_be_visible()
    expect(page.get_by_label('Remove CUSTOM_OLD')).to_have_count(0)
    expect(page.get_by_label('Do not add CUSTOM_OTHER')).to_have_count(0)
    page.get_by_role('button', name='Preview').click()
    apply.click()
    region = page.get_by_role('region', name='Traits and their sources')
    expect(region).to_contain_text('CUSTOM_NEW')
    expect(region).to_contain_text('CUSTOM_OTHER')
    expect(region).not_to_contain_text('CUSTOM_OLD')


@pytest.mark.parametrize('is_finished', [True, False], ids=['400', '409'])
def test_a_verb_that_is_refused(tab, site, is_finished):
    """A verb is refused if another client's deploy has finished, or is still under way."""
    tab.expected = ['400', '409']
    uuid = site.available(f'deployed-{is_finished}')
    page = tab.open(f'#/nodes/{uuid}')
    button = page.get_by_role('button', name='deploy', exact=True)
    expect(button).to_be_visible()
    site.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'})
    if is_finished:
        site.work()
    button.click()
    page.get_by_role('dialog').get_by_role('button', name='deploy').click()
    state = page.locator('.title .state').first
    expect(state).to_have_text('active' if is_finished else 'deploying')
    expect(button).to_have_count(0)
    expect(page.get_by_role('alert')).to_contain_text('can not be performed' if is_finished else 'is locked by host')
    site.work()
    expect(state).to_have_text('active')


def test_a_verb_for_a_node_that_is_deleted(tab, site):
    tab.expected = ['404']
    uuid = site.available('deleted')
    page = tab.open(f'#/nodes/{uuid}')
    page.get_by_role('button', name='Set maintenance').click()
    site.ask('DELETE', f'/v1/nodes/{uuid}')
    page.get_by_role('dialog').get_by_role('button', name='Set maintenance').click()
    expect(page.get_by_role('button', name='Set maintenance')).to_have_count(0)
    expect(page.get_by_role('alert')).to_contain_text('could not be found')
    page.get_by_role('link', name='Its history').click()
    expect(page.locator('tbody tr').first).to_contain_text('The node was deleted.')


def test_a_reservation_that_is_refused(tab, site):
    tab.expected = ['409']
    uuid = site.available('taken')
    page = tab.open(f'#/nodes/{uuid}')
    page.get_by_text('Reserve it').click()
    site.reserve(uuid, INSTANCES[1])
    page.get_by_role('button', name='Reserve', exact=True).click()
    card = page.get_by_role('region', name='Reservation')
    expect(card.get_by_role('definition').first).to_have_text(INSTANCES[1])
    expect(card.get_by_role('button', name='Release')).to_be_visible()
    expect(card.get_by_role('alert')).to_contain_text('None of the nodes can be reserved')


def test_a_release_that_is_refused(tab, site):
    tab.expected = ['404']
    uuid = site.available('released')
    reservation = site.reserve(uuid)
    page = tab.open(f'#/nodes/{uuid}')
    card = page.get_by_role('region', name='Reservation')
    card.get_by_role('button', name='Release').click()
    site.ask('DELETE', f'/v1/reservations/{reservation}')
    page.get_by_role('dialog').get_by_role('button', name='Release').click()
    expect(card.get_by_text('Reserve it')).to_be_visible()
    expect(card.get_by_text(INSTANCES[0])).to_have_count(0)
    expect(card.get_by_role('alert')).to_contain_text(f'Reservation {reservation} could not be found')


def test_a_release_is_of_the_reservation_that_is_shown(tab, site):
    """Not of the one that another user has got meanwhile, and that the page has not read yet."""
    tab.expected = ['404']
    own = [INSTANCES[0][:-2] + number for number in ('71', '72')]
    uuid = site.available('twice')
    first = site.reserve(uuid, own[0])
    page = tab.open(f'#/nodes/{uuid}')
    card, dialog = page.get_by_role('region', name='Reservation'), page.get_by_role('dialog')
    card.get_by_role('button', name='Release').click()
    expect(dialog).to_contain_text(own[0])
    site.ask('DELETE', f'/v1/reservations/{first}')
    second = site.reserve(uuid, own[1])
    held = []
    page.route(f'**/v1/reservations/{second}', lambda route: held.append(route))
    dialog.get_by_role('button', name='Release').click()
    expect(card.get_by_role('alert')).to_contain_text(f'Reservation {first} could not be found')
    wait_until(lambda: held or page.wait_for_timeout(20))
    expect(card.get_by_role('button', name='Release')).to_have_count(0)
    expect(card.locator('.busy')).to_have_count(1)
    held[0].continue_()
    expect(card).to_contain_text(own[1])
    site.ask('DELETE', f'/v1/reservations/{second}')


def test_a_reservation_that_was_extended_meanwhile(tab, site):
    """It ends an hour later than before, not than the page shows."""
    uuid = site.available('extended')
    own = INSTANCES[0][:-2] + '73'
    body = {'node_uuid': [uuid], 'instance_uuid': own, 'expires_at': '2031-01-01T10:00:00+00:00'}
    reservation = site.ask('POST', '/v1/reservations', body)['reservation']['uuid']
    page = tab.open('#/reservations')
    row = page.locator('tr', has_text=own)
    expect(row).to_be_visible()
    site.ask('POST', f'/v1/reservations/{reservation}/renew', {'expires_at': '2031-01-01T15:00:00+00:00'})
    with page.expect_response('**/renew'):
        row.get_by_role('button', name='Extend').click()
    ends = site.ask('GET', f'/v1/reservations/{reservation}')['reservation']['expires_at']
    assert ends.startswith('2031-01-01T16:00:00')


def test_an_action_lasts_until_the_page_shows_it(tab, site):
    """Nobody clicks again because nothing seems to have happened."""
    uuid = site.available('patient')
    page = tab.open(f'#/nodes/{uuid}')
    page.get_by_text('Reserve it').click()
    held = []
    page.route(f'**/v1/nodes/{uuid}', lambda route: held.append(route))
    button = page.get_by_role('button', name='Reserve', exact=True)
    button.click()
    wait_until(lambda: held or page.wait_for_timeout(20))
    expect(button).to_be_disabled()
    held.pop().continue_()
    expect(page.get_by_role('button', name='Release')).to_be_visible()
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Add a trait').fill('CUSTOM_SLOW')
    page.get_by_label('Add a trait').press('Enter')
    page.get_by_role('button', name='Preview').click()
    page.get_by_role('button', name='Apply').click()
    wait_until(lambda: held or page.wait_for_timeout(20))
    expect(page.get_by_role('region', name='Traits and their sources')).to_have_count(0)
    held.pop().continue_()
    expect(page.get_by_role('region', name='Traits and their sources')).to_contain_text('CUSTOM_SLOW')


def test_a_release_that_is_refused_in_the_list(tab, site):
    tab.expected = ['404']
    reservation = site.reserve(site.available('listed'), INSTANCES[2])
    page = tab.open('#/reservations')
    row = page.locator('tr', has_text=INSTANCES[2])
    row.get_by_role('button', name='Release').click()
    site.ask('DELETE', f'/v1/reservations/{reservation}')
    page.get_by_role('dialog').get_by_role('button', name='Release').click()
    expect(row).to_have_count(0)
    expect(page.get_by_role('alert')).to_contain_text(f'Reservation {reservation} could not be found')


def _with_one_node(route):
    route.continue_(url=route.request.url.replace('limit=1000', 'limit=1'))


def test_names_of_more_nodes_than_a_page_of_nodes_has(tab, site):
    """The page requests 1,000 nodes. The test reduces this to one, so that other reserved nodes are missing."""
    names = [f'named-{number}' for number in range(3)]
    for name in names:
        site.ask('POST', '/v1/reservations', {'node_uuid': [site.available(name)], 'instance_uuid': _uuid(name)})
    tab.page.route('**/v1/nodes?*limit=1000*', _with_one_node)
    page = tab.open('#/reservations')
    for name in names:
        expect(page.locator('tr', has_text=_uuid(name)).get_by_role('link')).to_have_text(name)


def _uuid(name):
    """Return the uuid of the instance for a node."""
    return f'd0d0d0d0-0000-4000-8000-{int(name[-1]):012}'
