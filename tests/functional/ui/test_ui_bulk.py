"""Changes of many nodes on the web page, in a real browser, and the fields that complete the names of traits."""

import csv
import json
import re

import pytest
from playwright.sync_api import expect

from tests.support import browser as browsers
from tests.support import http_client, ui_inventory
from tests.support.concurrency import wait_until
from tests.support.service import ForkedServer, upgraded

HEADERS = {'X-OpenStack-Ironic-API-Version': '1.115', 'Content-Type': 'application/json'}


@pytest.fixture(scope='module')
def own(tmp_path_factory):
    """The base URL of a service of this module, whose nodes the tests change."""
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("bulk")}/x.sqlite')
    ui_inventory.fill(url)
    with ForkedServer(url, '--nostart-worker') as running:
        yield running.base


@pytest.fixture
def tab(user, own):
    with browsers.tab_in(user, own) as opened:
        yield opened


def ask(base, method, path, document=None):
    """Send a request to the API, which must succeed, and return the document of the response."""
    status, _, body = http_client.ask(base, method, path, document, HEADERS)
    assert status < 300, body
    return json.loads(body) if body else None


def with_trait(base, name):
    """Return the names of the nodes that have a trait."""
    return {node['name'] for node in ask(base, 'GET', f'/v1/nodes?traits={name}&fields=name')['nodes']}


def choose(page, *names):
    """Select nodes, and open the card that changes them."""
    for name in names:
        page.get_by_role('checkbox', name=f'Select {name}', exact=True).check()
    label = f'Change {len(names)} nodes'
    page.get_by_role('button', name=label, exact=True).click()
    return page.get_by_role('region', name=label)


def test_traits_of_selected_nodes(tab, own):
    page = tab.open()
    card = choose(page, 'rack1-1', 'rack2-1')
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_BULK')
    card.get_by_role('combobox', name='Remove').fill('custom_rack_1')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes would change')
    outcomes = card.get_by_role('region', name='Outcome for each node').locator('tbody tr')
    expect(outcomes.filter(has_text='rack1-1')).to_contain_text('+CUSTOM_BULK −CUSTOM_RACK_1')
    tab.check_accessibility()
    assert with_trait(own, 'CUSTOM_BULK') == set()
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes changed')
    assert with_trait(own, 'CUSTOM_BULK') == {'rack1-1', 'rack2-1'}
    assert 'rack1-1' not in with_trait(own, 'CUSTOM_RACK_1')
    expect(page.locator('table.nodes tr', has_text='rack1-1')).to_contain_text('CUSTOM_BULK')
    with page.expect_download() as download:
        card.get_by_role('button', name='CSV report').click()
    with open(download.value.path(), newline='') as file:
        assert {(line['name'], line['outcome']) for line in csv.DictReader(file)} == {
            ('rack1-1', 'done'),
            ('rack2-1', 'done'),
        }


def test_a_preview_has_all_pages(tab, own):
    """The test reduces the size of a page to one node."""
    page = tab.open()
    page.route('**/v1/traits/edits?limit=200', lambda route: route.continue_(url=route.request.url[:-3] + '1'))
    card = choose(page, 'rack1-1', 'rack2-1', 'rack2-2')
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_PAGES')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('3 nodes would change')
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_have_text('3 nodes changed')
    assert with_trait(own, 'CUSTOM_PAGES') == {'rack1-1', 'rack2-1', 'rack2-2'}


def test_an_edit_leaves_out_nodes_that_refuse_it(tab, own):
    """The others get the trait, although the API refuses an edit as a whole."""
    full = ask(own, 'GET', '/v1/nodes/rack3-1/traits')['traits']
    ask(own, 'PUT', '/v1/nodes/rack3-1/traits', {'traits': [f'CUSTOM_FULL_{number}' for number in range(50)]})
    page = tab.open('#/nodes?traits-any=CUSTOM_FULL_1,CUSTOM_RACK_2')
    expect(page.get_by_role('status').first).to_have_text('9 nodes')
    page.get_by_role('button', name='Change all', exact=True).click()
    card = page.get_by_role('region', name='Change 9 nodes')
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_MORE')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('8 nodes would change, 1 node would refuse')
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_have_text('8 nodes changed, 1 node refused')
    expect(card.locator('tbody tr').first).to_contain_text('rack3-1refusedIt would have too many traits.')
    assert with_trait(own, 'CUSTOM_MORE') == {f'rack2-{number}' for number in range(1, 9)}
    ask(own, 'PUT', '/v1/nodes/rack3-1/traits', {'traits': full})


@pytest.mark.parametrize('action', ['traits', 'maintenance'])
def test_a_selected_node_that_is_deleted(tab, own, action):
    """The others are changed."""
    uuid = ask(own, 'POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'rack0-1'})['uuid']
    page = tab.open()
    tab.expected = ['404']
    card = choose(page, 'rack0-1', 'rack3-7')
    ask(own, 'DELETE', f'/v1/nodes/{uuid}')
    if action == 'traits':
        card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_STAYED')
    else:
        card.get_by_label('Action').select_option(label='Set maintenance')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('1 node would change, 1 node would refuse')
    expect(card.locator('tbody tr').first).to_contain_text('It does not exist any more.')
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_have_text('1 node changed, 1 node refused')
    ask(own, 'DELETE', '/v1/nodes/rack3-7/maintenance')


def test_maintenance_and_a_transition(tab, own):
    page = tab.open()
    card = choose(page, 'rack3-2', 'rack3-3')
    card.get_by_label('Action').select_option(label='Set maintenance')
    card.get_by_label('Reason').fill('new fans')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes would change')
    # Another choice makes the preview outdated.
    card.get_by_label('Action').select_option(label='Inspect')
    expect(card.get_by_role('button', name='Apply')).to_have_count(0)
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes would refuse')
    expect(card.get_by_role('button', name='Apply')).to_be_disabled()
    card.get_by_label('Action').select_option(label='Set maintenance')
    card.get_by_label('Reason').fill('new fans')
    card.get_by_role('button', name='Preview').click()
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes changed')
    for name in ('rack3-2', 'rack3-3'):
        assert ask(own, 'GET', f'/v1/nodes/{name}')['maintenance_reason'] == 'new fans'
        ask(own, 'DELETE', f'/v1/nodes/{name}/maintenance')


def test_the_view_is_left_during_a_change(tab, own):
    """The page asks first: the change would stop, and nobody would know how far it came."""
    held, asked = [], []
    tab.open('')
    page = tab.open()
    card = choose(page, 'rack3-6', 'rack3-7')
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_LEFT')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('button', name='Apply')).to_be_visible()
    page.route('**/v1/traits/edits', lambda route: held.append(route))
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('button', name='Stop')).to_be_visible()
    page.once('dialog', lambda dialog: asked.append(dialog.message) or dialog.dismiss())
    page.get_by_role('link', name='Racks', exact=True).click()
    page.once('dialog', lambda dialog: asked.append(dialog.message) or dialog.dismiss())
    page.evaluate('history.back()')
    wait_until(lambda: page.wait_for_timeout(20) or len(asked) == 2)
    expect(page).to_have_url(re.compile('#/nodes$'))
    assert ['its report is lost' in each for each in asked] == [True, True]
    held[0].continue_()
    expect(card.get_by_role('status')).to_have_text('2 nodes changed')
    # After that, nobody is asked.
    page.get_by_role('link', name='Racks', exact=True).click()
    expect(page.get_by_role('heading', name='Racks')).to_be_visible()
    assert with_trait(own, 'CUSTOM_LEFT') == {'rack3-6', 'rack3-7'}


def test_a_response_is_lost(tab, own):
    """The report does not say that nothing has happened."""
    tab.expected = ['Failed to load resource']
    page = tab.open()
    card = choose(page, 'rack3-6', 'rack3-7')
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_LOST')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('button', name='Apply')).to_be_visible()
    page.route('**/v1/traits/edits', lambda route: route.fetch() and route.abort())
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes without an answer')
    expect(card.get_by_role('alert')).to_contain_text('The service does not answer.')
    expect(card.get_by_role('row', name='rack3-6')).to_contain_text('Look at the node.')
    assert with_trait(own, 'CUSTOM_LOST') == {'rack3-6', 'rack3-7'}


def test_other_filters_end_a_change(tab, own):
    """They would not be those of the nodes that it changes. A report stays."""
    page = tab.open('#/nodes?resource_class=gpu')
    rows = page.locator('table.nodes tbody tr')
    page.get_by_role('button', name='Change all', exact=True).click()
    card = page.get_by_role('region', name=re.compile(r'Change \d+ nodes'))
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_OF_GPUS')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('button', name='Apply')).to_be_visible()
    page.get_by_role('link', name='Nodes with CUSTOM_RACK_2').click()
    expect(card).to_have_count(0)
    page.get_by_role('button', name='Change all', exact=True).click()
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_OF_GPUS')
    card.get_by_role('button', name='Preview').click()
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('status')).to_contain_text('changed')
    shown = {each.text_content() for each in rows.locator('td.name').all()}
    page.get_by_role('link', name='Remove all').click()
    expect(rows).to_have_count(24)
    expect(card.get_by_role('status')).to_contain_text('changed')
    expect(card.get_by_role('button', name='Preview')).to_be_disabled()
    assert with_trait(own, 'CUSTOM_OF_GPUS') == shown


def test_a_change_after_the_preview(tab, own):
    """The page says so, and nothing changes."""
    tab.expected = ['409']
    page = tab.open()
    card = choose(page, 'rack3-4', 'rack3-5')
    card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_LATE')
    card.get_by_role('button', name='Preview').click()
    expect(card.get_by_role('status')).to_have_text('2 nodes would change')
    ask(own, 'PUT', '/v1/nodes/rack3-4/traits/CUSTOM_MEANWHILE')
    card.get_by_role('button', name='Apply').click()
    expect(card.get_by_role('alert')).to_contain_text('changed')
    expect(card.get_by_role('status')).to_have_text('No node. 2 nodes not reached: preview again to go on.')
    assert with_trait(own, 'CUSTOM_LATE') == set()


def test_the_selection(tab):
    """It stays on other pages, and goes with other filters."""
    page = tab.open()
    page.get_by_role('checkbox', name='Select all nodes of this page').check()
    expect(page.get_by_role('button', name='Change 24 nodes')).to_be_visible()
    page.get_by_role('checkbox', name='Select rack1-2', exact=True).uncheck()
    expect(page.get_by_role('button', name='Change 23 nodes')).to_be_visible()
    page.get_by_role('link', name='Name').click()
    expect(page.get_by_role('button', name='Change 23 nodes')).to_be_visible()
    page.get_by_role('link', name='Nodes with CUSTOM_RACK_2').click()
    expect(page.get_by_role('button', name='Change all', exact=True)).to_be_visible()


def test_the_names_of_traits(tab):
    """A part of a name finds traits of nodes and of the catalogue. The keyboard chooses one."""
    page = tab.open('#/why')
    field = page.get_by_role('combobox', name='Required traits')
    field.fill('gpu_a')
    options = page.get_by_role('option')
    expect(options.first).to_contain_text('CUSTOM_GPU_A100')
    expect(options.first).to_contain_text('8 nodes')
    tab.check_accessibility()
    field.press('ArrowDown')
    expect(options.first).to_have_attribute('aria-selected', 'true')
    field.press('Enter')
    expect(field).to_have_value('CUSTOM_GPU_A100 ')
    field.press_sequentially('cpu_amd_sev')
    option = options.filter(has_text='no node').first
    option.click()
    expect(field).to_have_value('CUSTOM_GPU_A100 HW_CPU_AMD_SEV ')
    field.press_sequentially('nope')
    expect(page.get_by_text('No trait has “NOPE” in its name.')).to_be_visible()
    field.press('Escape')
    expect(page.get_by_text('No trait has “NOPE” in its name.')).to_have_count(0)
    field.fill('CUSTOM_GPU_A100')
    field.press('Enter')
    expect(page.get_by_role('status').filter(has_text='of 24 match')).to_be_visible()


def test_all_traits_of_a_node(tab):
    page = tab.open()
    row = page.locator('table.nodes tr', has_text='rack1-4')
    shown = row.locator('.trait')
    expect(shown).to_have_count(5)
    row.get_by_role('button', name='more traits').click()
    expect(shown).to_have_count(9)
    row.get_by_role('button', name='Fewer traits').click()
    expect(shown).to_have_count(5)
