"""What the web page shows while it loads data again, and when that fails, in a real browser."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.functional.ui.test_ui_layouts import PLACES
from tests.functional.ui.test_ui_views import uuid_of
from tests.support import browser as browsers
from tests.support.concurrency import wait_until

_EDITS = '**/v1/traits/edits'
UNKNOWN = 'c0ffee00-0000-4000-8000-00000000ffff'


class Held:
    """Requests that wait for the test.

    :ivar routes: Playwright's routes of the requests.
    """

    def __init__(self, page, pattern):
        self._page, self._pattern, self.routes = page, pattern, []
        page.route(pattern, lambda route: self.routes.append(route))

    def wait(self, number=1):
        """Wait until the page has sent a number of requests."""
        # Playwright notices requests only while it waits itself.
        wait_until(lambda: len(self.routes) >= number or self._page.wait_for_timeout(20))

    def release(self):
        """Send the requests to the service, and hold no others."""
        for route in self.routes:
            route.continue_()
        self._page.unroute(self._pattern)


@pytest.mark.parametrize('place', PLACES)
def test_a_slow_service(tab, place):
    """Each view has its title and says that it waits, until the responses are there."""
    page = tab.page
    held = Held(page, '**/v1/**')
    tab.open(f'#/{place}')
    held.wait()
    expect(page.get_by_role('heading', level=1)).to_be_visible()
    expect(page.locator('main .busy').first).to_be_visible()
    expect(page.get_by_role('alert')).to_have_count(0)
    held.release()
    expect(page.locator(PLACES[place]).first).to_be_visible()
    expect(page.locator('.busy')).to_have_count(0)


@pytest.mark.parametrize('place', PLACES)
def test_a_failing_service(tab, place):
    """Each view says what has failed, and tries again when it is asked to."""
    tab.expected = ['503']
    page = tab.page
    page.route('**/v1/**', lambda route: route.fulfill(status=503, json={'error_message': 'The database is away.'}))
    tab.open(f'#/{place}')
    expect(page.get_by_role('alert').first).to_contain_text('The database is away.')
    expect(page.get_by_role('heading', level=1)).to_be_visible()
    tab.check_accessibility()
    page.wait_for_load_state('networkidle')
    page.unroute('**/v1/**')
    page.get_by_role('button', name='Try again').evaluate_all('buttons => buttons.forEach((each) => each.click())')
    expect(page.locator(PLACES[place]).first).to_be_visible()
    expect(page.get_by_role('alert')).to_have_count(0)


@pytest.mark.parametrize(
    ('place', 'field', 'value', 'button'),
    [
        ('#/why?required=CUSTOM_RACK_1', 'Required traits', 'CUSTOM_RACK_1', 'Ask'),
        ('#/capacity', 'these nodes did not exist', '', 'Count'),
        ('#/changes', 'Node', '', 'Filter'),
        ('#/reservations', 'Find a reservation', '', 'Search'),
        ('#/nodes?search=rack', 'Search nodes', 'rack', 'Search'),
    ],
)
def test_a_form_that_is_submitted_again(tab, place, field, value, button):
    """The same request is sent again. A form keeps the focus, and shows what the URL has."""
    page = tab.open(place)
    page.wait_for_load_state('networkidle')
    submit = page.get_by_role('button', name=button, exact=True)
    with page.expect_request('**/v1/**'):
        submit.click()
    before = page.url
    page.get_by_label(field, exact=True).fill('CUSTOM_RACK_2' if button == 'Ask' else 'rack1-2')
    with page.expect_request('**/v1/**'):
        submit.click()
    assert page.url != before
    expect(submit).to_be_focused()
    page.go_back()
    expect(page.get_by_label(field, exact=True)).to_have_value(value)


@pytest.mark.parametrize(
    ('place', 'next_place'),
    [
        ('nodes', 'nodes?provision_state=available'),
        ('capacity', 'capacity?by=resource_class'),
        ('changes', 'changes?event_type=node'),
        ('reservations', 'reservations?search=rack1-2'),
        ('racks', 'racks?key=owner'),
    ],
)
def test_old_values_can_be_read_while_new_ones_are_loaded(tab, place, next_place):
    page = tab.open(f'#/{place}')
    expect(page.locator(PLACES[place]).first).to_be_visible()
    page.wait_for_load_state('networkidle')
    held = Held(page, '**/v1/**')
    tab.open(f'#/{next_place}')
    held.wait()
    expect(page.locator('.stale').first).to_be_visible()
    # The values change their look a moment later.
    page.evaluate(
        'Promise.all(document.getAnimations().map((each) => each.effect.getTiming().iterations > 1 || each.finished))'
    )
    tab.check_accessibility()
    held.release()
    expect(page.locator('.stale')).to_have_count(0)


@pytest.mark.parametrize(
    ('place', 'next_place', 'pattern'),
    [
        ('#/nodes?search=nosuchnode', '#/nodes', '**/v1/nodes?*'),
        ('#/changes?trait=CUSTOM_NEVER', '#/changes', '**/v1/history?*'),
        (f'#/reservations?search={UNKNOWN}', '#/reservations', '**/v1/reservations?*'),
    ],
)
def test_an_empty_list_says_nothing_about_the_next_one(tab, place, next_place, pattern):
    # A uuid may be that of an instance or of a node.
    tab.expected = ['404'] if UNKNOWN in place else []
    page = tab.open(place)
    expect(page.locator('.empty')).to_be_visible()
    held = Held(page, pattern)
    page.evaluate(f"location.hash = '{next_place}'")
    held.wait()
    expect(page.locator('.empty')).to_have_count(0)
    expect(page.locator('main .busy').first).to_be_visible()
    held.release()
    expect(page.locator('tbody tr').first).to_be_visible()


def test_what_the_user_enters_while_a_response_is_under_way(tab):
    """The focus does not move to the field of an error."""
    tab.expected = ['400']
    page = tab.open('#/why')
    page.get_by_label('Required traits').fill('CUSTOM_BAD-')
    held = Held(page, '**/v1/matches')
    page.get_by_role('button', name='Ask').click()
    held.wait()
    page.get_by_label('Resource class').focus()
    page.keyboard.type('go')
    held.release()
    expect(page.get_by_role('alert')).to_contain_text('CUSTOM_BAD-')
    page.keyboard.type('ld')
    expect(page.get_by_label('Resource class')).to_have_value('gold')
    expect(page.get_by_label('Required traits')).to_have_value('CUSTOM_BAD-')


def test_boxes_of_an_old_list(tab):
    page = tab.open('#/nodes?search=rack1')
    expect(page.get_by_role('checkbox', name='Select rack1-2', exact=True)).to_be_enabled()
    held = Held(page, '**/v1/nodes?*')
    page.evaluate("location.hash = '#/nodes?search=rack3'")
    held.wait()
    expect(page.get_by_role('checkbox', name='Select rack1-2', exact=True)).to_be_disabled()
    held.release()
    expect(page.get_by_role('checkbox', name='Select rack3-2', exact=True)).to_be_enabled()


def test_back_before_the_page_shows_a_new_place(tab):
    """Both places are shown, one after the other. So the form has what the URL has."""
    page = tab.open('#/why?required=CUSTOM_RACK_1')
    page.wait_for_load_state('networkidle')
    required = page.get_by_label('Required traits', exact=True)
    required.fill('CUSTOM_RACK_2')
    # The page cannot do anything else until the browser has gone back.
    page.get_by_role('button', name='Ask', exact=True).evaluate(
        """button => {
          button.click();
          history.back();
          for (const start = performance.now(); performance.now() < start + 300; );
        }"""
    )
    expect(required).to_have_value('CUSTOM_RACK_1')


def test_changes_are_polled(browser, look_around):
    """A poll waits for the one before it. The table stays when one fails."""
    with browsers.tab(browser, look_around) as timed:
        timed.expected = ['Failed to load resource']
        timed.page.clock.install()
        page = timed.open('#/changes')
        expect(page.locator('tbody tr')).to_have_count(50)
        polls = Held(page, '**/v1/history?*')
        page.get_by_label('Reload every 5 seconds').check()
        page.clock.run_for(6000)
        polls.wait()
        page.clock.run_for(20000)
        page.wait_for_timeout(100)
        assert len(polls.routes) == 1
        polls.routes[0].abort()
        expect(page.get_by_role('alert')).to_contain_text('The service does not answer.')
        expect(page.locator('tbody tr')).to_have_count(50)
        page.clock.run_for(6000)
        polls.wait(2)
        polls.routes[1].fulfill(json={'history': [], 'next': None})
        expect(page.get_by_text('There are no entries yet.')).to_be_visible()
        expect(page.get_by_role('alert')).to_have_count(0)


def test_a_node_stays_when_it_cannot_be_loaded_again(tab, look_around):
    """The draft of an edit stays, too."""
    tab.expected = ['Failed to load resource']
    uuid = uuid_of(look_around, 'rack1-5')
    page = tab.open(f'#/nodes/{uuid}')
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Remove CUSTOM_NIC_100G').click()
    # The state does not change, because other tests use the node.
    page.route('**/maintenance', lambda route: route.fulfill(status=202))
    page.route(re.compile(f'/v1/nodes/{uuid}(/traits.*)?$'), lambda route: route.abort())
    page.get_by_role('button', name='Set maintenance').click()
    page.get_by_role('dialog').get_by_role('button', name='Set maintenance').click()
    expect(page.get_by_role('alert')).to_contain_text('The service does not answer.')
    draft = page.get_by_label('Remove CUSTOM_NIC_100G')
    expect(draft).to_have_attribute('aria-pressed', 'true')
    page.unroute(re.compile(f'/v1/nodes/{uuid}(/traits.*)?$'))
    page.get_by_role('button', name='Try again').click()
    expect(page.get_by_role('alert')).to_have_count(0)
    expect(draft).to_have_attribute('aria-pressed', 'true')


@pytest.mark.parametrize('is_named', [False, True])
def test_a_draft_stays_while_the_traits_of_another_time_are_shown(tab, look_around, is_named):
    page = tab.open(f'#/nodes/{"rack1-4" if is_named else uuid_of(look_around, "rack1-4")}')
    page.get_by_role('button', name='Edit').click()
    draft = page.get_by_label('Remove CUSTOM_NIC_100G')
    draft.click()
    page.locator('.timeline li', has_text='terraform:').get_by_role('link').click()
    expect(page.get_by_role('region', name=re.compile('^Traits at '))).to_be_visible()
    expect(draft).to_be_hidden()
    page.get_by_role('link', name='Back to now').click()
    expect(draft).to_have_attribute('aria-pressed', 'true')


def test_an_outage_is_shown_once_for_a_node(tab, look_around):
    """One button loads everything again."""
    tab.expected = ['503']
    uuid = uuid_of(look_around, 'rack1-5')
    page = tab.open(f'#/nodes/{uuid}')
    table = page.get_by_role('region', name='Traits and their sources')
    expect(table).to_be_visible()
    page.route('**/maintenance', lambda route: route.fulfill(status=202))
    page.route(
        '**/v1/**',
        lambda route: route.fulfill(status=503, body='{}') if route.request.method == 'GET' else route.fallback(),
    )
    page.get_by_role('button', name='Set maintenance').click()
    page.get_by_role('dialog').get_by_role('button', name='Set maintenance').click()
    expect(page.get_by_role('alert')).to_have_count(1)
    expect(table).to_be_visible()
    page.unroute('**/v1/**')
    page.get_by_role('button', name='Try again').click()
    expect(page.get_by_role('alert')).to_have_count(0)
    expect(page).to_have_title('rack1-5 – ironic-traits')


def test_the_next_page_is_one_of_the_present_list(tab):
    """While new filters load, the page has the marker of the old list."""
    page = tab.open('#/nodes?limit=20')
    following = page.get_by_role('link', name='Next page')
    expect(following).to_be_visible()
    held = Held(page, '**/v1/nodes?*')
    page.get_by_role('link', name='Nodes with CUSTOM_RACK_1').click()
    held.wait()
    following.click(force=True)
    assert 'marker' not in page.url
    held.release()
    expect(page.locator('tbody td.name').first).to_have_text('rack1-1')


def test_links_that_are_malformed(tab, look_around):
    tab.expected = ['400', 'TypeError']
    page = tab.open('#/nodes/100%')
    expect(page.get_by_role('heading', level=1)).to_have_text('100%')
    expect(page.get_by_role('alert')).to_contain_text('100%')
    page = tab.open(f'#/nodes/{uuid_of(look_around, "rack1-4")}?at=abc')
    expect(page.get_by_role('alert')).to_have_text('“abc” in the link is not a time. Choose a time in the timeline.')
    page.get_by_role('link', name='Back to now').click()
    expect(page.get_by_role('region', name='Traits and their sources')).to_be_visible()
    page = tab.open('#/nodes/..')
    expect(page.get_by_role('alert')).to_contain_text('Node .. could not be found.')
    for hours in ('1e12', 'Infinity', '-1', 'x'):
        tab.open(f'#/changes?hours={hours}')
        expect(page.locator('tbody tr').first).to_be_visible()
    for key in ('resource_class,owner', 'maintenance', 'nothing'):
        tab.open(f'#/racks?key={key}')
        expect(page.get_by_role('alert')).to_contain_text(f'“{key}” does not divide the nodes.')
    # A view that has failed is tried again at another place.
    page.route('**/v1/history?*', lambda route: route.fulfill(json={}))
    tab.open('#/changes')
    expect(page.get_by_role('alert')).to_contain_text('This view failed')
    page.unroute('**/v1/history?*')
    tab.open('#/changes?event_type=trait')
    expect(page.locator('tbody tr').first).to_be_visible()


def test_traits_at_another_time(tab, look_around):
    """While those of another time load, the traits of the first time are not shown."""
    page = tab.open(f'#/nodes/{uuid_of(look_around, "rack1-4")}')
    page.locator('.timeline li', has_text='terraform:').get_by_role('link').click()
    card = page.get_by_role('region', name=re.compile('^Traits at '))
    expect(card.locator('.trait').first).to_be_visible()
    held = Held(page, '**/traits?at=*')
    page.locator('.timeline li', has_text='bmc-scan:').get_by_role('link').click()
    held.wait()
    expect(card.get_by_text('Loading …')).to_be_visible()
    expect(card.locator('.trait')).to_have_count(0)
    held.release()
    expect(card.locator('.trait.gone').first).to_have_text('HW_NUMA_ROOT')


def test_a_preview_that_comes_too_late(tab, look_around):
    """The preview of an edit is not shown if the user has changed the edit since."""
    page = tab.open(f'#/nodes/{uuid_of(look_around, "rack1-5")}')
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Remove CUSTOM_NIC_100G').click()
    held = Held(page, _EDITS)
    preview = page.get_by_role('button', name='Preview')
    preview.click()
    held.wait()
    page.get_by_label('Remove STORAGE_DISK_SSD').click()
    with page.expect_response(_EDITS):
        held.release()
    page.wait_for_timeout(100)
    expect(page.get_by_role('button', name='Apply')).to_have_count(0)
    preview.click()
    note = page.get_by_role('status').filter(has_text='would change the node')
    expect(note.locator('.trait.gone')).to_have_text(['CUSTOM_NIC_100G', 'STORAGE_DISK_SSD'])


def _with_one_node(route):
    document = json.loads(route.request.post_data)
    route.continue_(post_data=json.dumps(document | {'limit': 1}))


def test_a_preview_of_rules_has_all_pages(tab):
    """The test reduces the size of a page to one node."""
    page = tab.open('#/rules')
    page.route('**/v1/inspection_rules/preview', _with_one_node)
    page.get_by_role('button', name='Preview').click()
    expect(page.get_by_role('status').filter(has_text='would change')).to_have_text('2 nodes would change')
    expect(page.get_by_text('of 24 nodes; 22 without data')).to_be_visible()
    expect(page.locator('.trace')).to_have_count(2)
    held = Held(page, '**/v1/inspection_rules/preview')
    page.get_by_role('button', name='Preview').click()
    held.wait()
    page.get_by_role('button', name='Cancel').click()
    expect(page.get_by_role('button', name='Preview')).to_be_enabled()
    held.release()


def test_a_year_with_six_digits(tab):
    """A browser accepts it while you type. It is no time of the API, so it is not sent."""
    page = tab.open('#/nodes')
    page.locator('tbody tr').first.get_by_role('link').first.click()
    field = page.get_by_label('Traits at a time')
    for time, is_valid in (('12026-01-01T00:00:00', False), ('2026-01-01T00:00:00', True)):
        field.evaluate('(input, value) => { input.value = value; }', time)
        assert field.evaluate('(input) => input.value !== "" && input.checkValidity()') is is_valid
