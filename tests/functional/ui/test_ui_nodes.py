"""The list of nodes on the web page, in a real browser."""

import csv
import io
import json
import re
import urllib.parse

import pytest
from playwright.sync_api import expect

from tests.functional.ui.test_ui_views import uuid_of
from tests.support import http_client
from tests.support.browser import tab as open_tab
from tests.support.ui_inventory import HTML

_FIELDS = 'provision_state resource_class maintenance owner lessee shard conductor_group origin driver traits'
_NO_FACETS = {name: [] for name in _FIELDS.split()}

#: The width of the page, and the difference between the widths of the table and its frame.
WIDTHS = """(() => {
  const frame = document.querySelector('.scroll');
  return [document.documentElement.scrollWidth, frame.scrollWidth - frame.clientWidth];
})()"""


def names(page):
    """Return the names of the nodes in the table."""
    return page.locator('tbody td.name').all_inner_texts()


def parameters(page):
    """Return the state in the URL: {name: value}."""
    return dict(urllib.parse.parse_qsl(page.url.partition('#')[2].partition('?')[2]))


def test_filters_columns_and_order(tab):
    page = tab.open('#/nodes')
    expect(page.get_by_role('status').first).to_have_text('24 nodes')
    expect(page).to_have_title('Nodes – ironic-traits')
    tab.check_accessibility()
    page.get_by_role('link', name='Nodes with CUSTOM_RACK_2').click()
    expect(page.get_by_role('status').first).to_have_text('8 nodes')
    page.get_by_role('link', name='available', exact=True).click()
    expect(page.get_by_role('status').first).to_have_text('5 nodes')
    assert parameters(page) == {'traits': 'CUSTOM_RACK_2', 'provision_state': 'available'}
    page.get_by_label('Add a filter').select_option(label='not reserved')
    expect(page.locator('tbody tr')).to_have_count(4)
    page.get_by_role('link', name=re.compile('Name')).click()
    expect(page.locator('tbody td.name').first).to_have_text('rack2-7')
    assert names(page) == ['rack2-7', 'rack2-6', 'rack2-5', 'rack2-4']
    page.get_by_text('Columns', exact=True).click()
    page.get_by_role('checkbox', name='Shard').check()
    expect(page.locator('thead')).to_contain_text('Shard')
    page.reload()
    expect(page.locator('tbody td.shard').first).to_have_text('s1')
    commands = page.locator('.commands')
    commands.locator('summary').click()
    expect(commands).to_contain_text('/v1/nodes?fields=uuid,name')
    expect(commands).to_contain_text('“baremetal node list” has no option')
    page.get_by_role('link', name='Remove the filter: not reserved').click()
    page.get_by_role('link', name='Remove the filter: has CUSTOM_RACK_2').click()
    expect(commands).to_contain_text('baremetal node list --provision-state available --limit 0 --sort name:desc')
    tab.open('#/nodes?sort_key=owner')
    expect(commands).to_contain_text('“baremetal node list” cannot sort by this field')


def test_the_four_trait_filters(tab):
    page = tab.open()
    for kind, traits, number in (
        ('all of', 'HW_CPU_X86_VMX, storage_disk_ssd', 16),
        ('any of', 'CUSTOM_RACK_1 CUSTOM_RACK_3', 16),
        ('none of', 'CUSTOM_RACK_1,CUSTOM_RACK_3', 8),
        ('not all of', 'HW_CPU_X86_VMX STORAGE_DISK_HDD', 16),
    ):
        page.get_by_label('How the traits filter').select_option(label=kind)
        page.get_by_role('combobox', name='Traits', exact=True).fill(traits)
        page.get_by_role('button', name='Add', exact=True).click()
        expect(page.get_by_role('status').first).to_have_text(f'{number} nodes')
        page.get_by_role('link', name='Remove all').click()
        expect(page.get_by_role('status').first).to_have_text('24 nodes')


def test_a_trait_that_no_node_has(tab):
    page = tab.open('#/nodes?traits=CUSTOM_GPPU')
    expect(page.get_by_text('No node matches these filters.')).to_be_visible()
    expect(page.get_by_text('No node that you may see has the trait CUSTOM_GPPU.')).to_be_visible()
    tab.check_accessibility()


def test_search_and_an_empty_list(tab):
    page = tab.open()
    page.get_by_label('Search nodes').fill('the SPARE')
    page.get_by_label('Search nodes').press('Enter')
    expect(page.locator('tbody tr')).to_have_count(1)
    page.get_by_label('Search nodes').fill('nowhere')
    page.get_by_role('button', name='Search').click()
    expect(page.get_by_text('No node matches these filters.')).to_be_visible()
    tab.check_accessibility()
    page.go_back()
    expect(page.locator('tbody tr')).to_have_count(1)


def test_why_no_node_is_in_the_list(tab):
    """The question has what a request can have of the filters."""
    traits = 'traits=CUSTOM_A&traits=CUSTOM_E&traits-any=CUSTOM_B,CUSTOM_C&traits-any=CUSTOM_F&not-traits-any=CUSTOM_D'
    page = tab.open(f'#/nodes?resource_class=gold&owner=nobody&{traits}&sort_key=owner')
    page.get_by_role('link', name='why no node matches').click()
    fields = {'Required traits': 'CUSTOM_A,CUSTOM_E', 'Resource class': 'gold', 'Forbidden': 'CUSTOM_D'}
    for label, value in fields.items():
        expect(page.get_by_label(label).first).to_have_value(value)
    asked = parameters(page)
    assert (asked['one_of'], asked['one_of_2'], asked['owner']) == ('CUSTOM_B,CUSTOM_C', 'CUSTOM_F', 'nobody')
    page.go_back()
    page.get_by_role('link', name='Remove all').click()
    expect(page).to_have_url(re.compile(r'#/nodes\?sort_key=owner$'))


def test_downloads(tab):
    page = tab.open('#/nodes?traits=CUSTOM_RACK_1&columns=name,traits,description')
    for name in ('CSV', 'JSON'):
        with page.expect_download() as download:
            page.get_by_role('button', name=name).click()
        text = download.value.path().read_text()
        if name == 'JSON':
            assert len(json.loads(text)['nodes']) == 8
            continue
        rows = list(csv.DictReader(io.StringIO(text)))
        assert rows[0]['name'] == 'rack1-1'
        assert 'CUSTOM_NIC_100G' in rows[0]['traits'].split()
        assert '<script>' in rows[1]['description']


def test_downloads_that_are_too_long(tab):
    page = tab.open('#/nodes?owner=web&traits=CUSTOM_RACK_1')
    expect(page.locator('tbody tr')).to_have_count(2)
    # If the pages never come, the user can cancel.
    page.route('**/v1/nodes?*limit=1000*', lambda _: None)
    page.get_by_role('button', name='CSV').click()
    expect(page.get_by_role('status').filter(has_text='0 of 2 nodes …')).to_be_visible()
    tab.check_accessibility()
    page.get_by_role('button', name='Cancel').click()
    page.unroute('**/v1/nodes?*limit=1000*')
    # There are more nodes than at the time of the count.
    page.route('**/v1/nodes?*limit=1000*', lambda route: route.fulfill(json={'nodes': [{}] * 100_001}))
    page.get_by_role('button', name='JSON').click()
    note = page.get_by_role('alert')
    expect(note).to_contain_text('There are more than 100,000 nodes')
    expect(note).to_contain_text('--owner web --trait CUSTOM_RACK_1 --limit 0 -f csv --fields uuid name')
    expect(note).to_contain_text('limit=1000')
    tab.check_accessibility()
    # The page counts without reading nodes.
    page.unroute('**/v1/nodes?*limit=1000*')
    page.route('**/v1/nodes?*limit=1000*', lambda route: route.abort())
    page.route('**/v1/facets?*', lambda route: route.fulfill(json={'nodes': 100_001, 'facets': _NO_FACETS}))
    page.get_by_role('link', name='Remove the filter: Owner web').click()
    expect(note).to_have_count(0)
    expect(page.get_by_role('status').first).to_have_text('100,001 nodes')
    page.get_by_role('button', name='CSV').click()
    expect(note).to_contain_text('There are more than 100,000 nodes')
    note.get_by_role('button', name='Close').click()
    expect(note).to_have_count(0)


def _with_many_values(route):
    """Respond with as many values of each field as the page has asked for."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(route.request.url).query)
    counts = [{'value': f'CUSTOM_{number:03}', 'nodes': 1} for number in range(int(query['limit'][0]))]
    route.fulfill(json={'nodes': 5000, 'facets': dict.fromkeys(query['by'][0].split(','), counts)})


def _with_many_classes(route):
    if 'resource_class' not in json.loads(route.request.post_data).get('by', ()):
        route.continue_()
        return
    figures = {'matching': 1, 'free': 1, 'held': 0, 'unavailable': {}}
    classes = [{'value': f'class-{number}', **figures} for number in range(101)]
    route.fulfill(json={'flavors': [{'name': 'all', **figures, 'by': {'resource_class': classes}}], 'warnings': []})


def test_more_values_than_are_shown(tab):
    """The page says that there are more."""
    tab.page.route('**/v1/facets?*', _with_many_values)
    page = tab.open()
    values = page.get_by_role('list', name='Resource class').get_by_role('listitem')
    expect(values).to_have_count(101)
    expect(values.last).to_contain_text('and more: these are the 100 that most nodes have.')
    expect(page.get_by_text('Only the 1000 traits that most nodes have are here.')).to_be_visible()
    page.get_by_label('Find a trait').fill('CUSTOM_')
    expect(page.get_by_text('and 800 more: enter more of the name')).to_be_visible()
    tab.page.route('**/v1/capacity', _with_many_classes)
    tab.open('#/capacity')
    expect(page.get_by_text('These are the 100 resource classes that most nodes have.')).to_be_visible()


def test_nodes_without_a_value(tab):
    """The user can choose the value "(none)" of each field."""
    page = tab.open('#/nodes?conductor_group=&origin=')
    expect(page.locator('.chips')).to_contain_text('Conductor group (none)')
    expect(page.locator('tbody tr')).to_have_count(24)
    for field in ('Conductor group', 'Origin'):
        expect(page.get_by_role('list', name=field).get_by_role('link', name='(none)')).to_be_visible()
    page.locator('summary', has_text='Owner').click()
    page.get_by_role('list', name='Owner').get_by_role('link', name='(none)').click()
    expect(page.get_by_role('status').first).to_have_text('18 nodes')
    expect(page.get_by_role('list', name='Owner').get_by_role('listitem')).to_have_text(['(none)18'])
    page.get_by_role('link', name='Remove the filter: Conductor group (none)').click()
    expect(page.locator('.chip')).to_have_count(2)
    assert page.url.endswith('#/nodes?origin=&without=owner')
    tab.open('#/nodes?without=owner,lessee')
    page.locator('.commands summary').click()
    expect(page.locator('.commands')).to_contain_text('baremetal node list --without owner,lessee --fields')
    page.get_by_role('link', name='Remove the filter: Owner (none)').click()
    expect(page.get_by_role('status').first).to_have_text('24 nodes')
    assert page.url.endswith('#/nodes?without=lessee')
    tab.open('#/nodes?sharded=false')
    expect(page.locator('.chip')).to_contain_text('Shard (none)')


def test_columns_and_filters_come_from_the_table_of_fields(tab):
    """A column, and a filter by yes or no, that the page does not know are on it as soon as the service names them."""

    def extend(route):
        document = route.fetch().json()
        document['columns']['maintenance_reason'] = {**document['columns']['power_state'], 'label': 'Reason'}
        document['columns']['chassis_uuid'] = {**document['columns']['updated_at'], 'label': 'Chassis'}
        document['flags']['retired'] = ['out of use', 'in use']
        route.fulfill(json=document)

    tab.page.route('**/ui/login', extend)
    page = tab.open('#/nodes')
    page.get_by_text('Columns', exact=True).click()
    expect(page.get_by_role('checkbox', name='Chassis')).to_have_count(0)
    page.get_by_role('checkbox', name='Reason').check()
    page.locator('thead').get_by_role('link', name='Reason').click()
    expect(page.get_by_role('columnheader', name='Reason')).to_have_attribute('aria-sort', 'ascending')
    page.get_by_label('Add a filter').select_option(label='in use')
    expect(page.locator('.chip')).to_contain_text('in use')
    expect(page.locator('tbody tr')).to_have_count(24)
    assert {'sort_key': 'maintenance_reason', 'retired': 'false'}.items() <= parameters(page).items()


def test_pages(tab):
    """The nodes are sorted by name at first. The number of rows is chosen in the menu of columns."""
    page = tab.open('#/nodes')
    page.get_by_text('Columns', exact=True).click()
    page.get_by_role('combobox', name='Rows').select_option('20')
    pages = page.get_by_role('navigation', name='Pages')
    expect(pages).to_contain_text('1–20 of 24')
    everything = [f'rack{rack}-{place}' for rack in (1, 2, 3) for place in range(1, 9)]
    for link, position, first, last in (
        ('Next', '21–24', 20, 24), ('Previous', '1–20', 0, 20), ('Last', '5–24', 4, 24), ('Previous', '1–20', 0, 20),
        ('Last', '5–24', 4, 24), ('First', '1–20', 0, 20),
    ):  # fmt: skip
        page.get_by_role('link', name=f'{link} page').click()
        expect(pages).to_contain_text(f'{position} of 24')
        assert names(page) == everything[first:last]
    # Sorted in the other direction, and without a position in the link.
    tab.open('#/nodes?limit=20&sort_dir=desc&end=1')
    expect(page.locator('tbody td.name').first).to_have_text('rack3-4')
    expect(pages).to_contain_text('5–24 of 24')
    assert names(page) == everything[19::-1]
    tab.open(f'#/nodes?limit=20&marker={uuid_of(tab.base, "rack3-4")}')
    expect(page.locator('tbody tr')).to_have_count(4)
    expect(pages).to_have_text('FirstPrevious')
    page.get_by_role('link', name='Previous page').click()
    expect(page.locator('tbody tr')).to_have_count(20)
    assert names(page) == everything[:20]
    # The command gets all pages.
    expect(page.locator('.commands')).to_contain_text('baremetal node list --limit 0 --fields')
    # The browser remembers the number of rows.
    tab.open('#/nodes')
    expect(pages).to_contain_text('1–20 of 24')
    page.get_by_role('button', name='The usual columns').click()
    expect(page.locator('tbody tr')).to_have_count(24)
    expect(page.locator('.commands')).to_contain_text('baremetal node list --fields')


def test_an_order_that_does_not_exist(tab):
    tab.expected = ['400']
    page = tab.open('#/nodes?sort_key=bogus')
    page.get_by_role('alert').get_by_role('link', name='All nodes').click()
    expect(page.locator('tbody tr').first).to_be_visible()


@pytest.mark.parametrize(
    ('place', 'first'),
    [
        ('nodes?search=rack&limit=20', 'nodes?search=rack&limit=20'),
        ('changes?event_type=trait', 'changes?event_type=trait'),
        ('reservations?search=rack1-1', 'reservations?search=rack1-1'),
    ],
)
def test_a_page_that_begins_after_what_is_deleted(tab, place, first):
    """There is a way to the first page."""
    tab.expected = ['404']
    page = tab.open(f'#/{place}&marker=00000000-0000-4000-8000-00000000dead')
    expect(page.get_by_role('alert')).to_contain_text('could not be found')
    page.get_by_role('link', name='First page').click()
    expect(page.get_by_role('alert')).to_have_count(0)
    assert page.url.endswith(f'#/{first}')


def test_html_in_names_does_nothing(tab):
    page = tab.open(f'#/nodes?columns=name,description&search={urllib.parse.quote(HTML)}')
    expect(page.locator('tbody')).to_contain_text('<script>window.hacked=1</script>')
    expect(page.locator('.chips')).to_contain_text(HTML)
    assert page.evaluate('window.hacked') is None
    assert page.locator('main img, main script').count() == 0


def test_on_a_phone(browser, look_around):
    with open_tab(browser, look_around, viewport={'width': 375, 'height': 700}, color_scheme='dark') as opened:
        page = opened.open()
        expect(page.locator('tbody tr').first).to_be_visible()
        page.get_by_text('Columns', exact=True).click()
        for name in ('UUID', 'Description', 'Driver'):
            page.get_by_role('checkbox', name=name).check()
        expect(page.locator('tbody td.uuid').first).to_be_visible()
        assert page.evaluate(WIDTHS) == [375, 0]
        # A screen reader finds the table.
        expect(page.get_by_role('table').get_by_role('columnheader', name='UUID')).to_be_visible()
        expect(page.get_by_role('row', name='rack1-1').get_by_role('cell', name='gold')).to_be_visible()
        page.get_by_role('button', name='Show filters').click()
        expect(page.get_by_role('link', name='Nodes with CUSTOM_RACK_2')).to_be_visible()
        opened.check_accessibility()


def test_the_keyboard_is_enough(tab):
    page = tab.open()
    expect(page.locator('tbody tr').first).to_be_visible()
    page.keyboard.press('Tab')
    expect(page.get_by_role('button', name='Skip to the content')).to_be_focused()
    page.keyboard.press('Enter')
    for _ in range(3):
        page.keyboard.press('Tab')
    expect(page.get_by_role('button', name='Skip to the nodes')).to_be_focused()
    page.keyboard.press('Enter')
    assert page.evaluate('document.activeElement.innerText') == 'rack1-1'
    page.keyboard.press('Enter')
    expect(page.get_by_role('heading', level=1)).to_contain_text('rack1-1')
    # The focus moves to the new view, so that a screen reader begins there.
    assert page.evaluate('document.activeElement.tagName') == 'MAIN'


def test_the_service_is_gone(tab):
    tab.expected = ['Failed to load resource']
    page = tab.open()
    expect(page.locator('tbody tr').first).to_be_visible()
    page.route('**/v1/**', lambda route: route.abort())
    page.get_by_role('link', name='Nodes with CUSTOM_RACK_2').click()
    expect(page.get_by_text('The service does not answer.').first).to_be_visible()
    page.unroute('**/v1/**')
    page.get_by_role('region').or_(page.locator('section.card')).get_by_role('button', name='Try again').first.click()
    expect(page.locator('tbody tr')).to_have_count(8)
    expect(page.get_by_role('link', name='Nodes with CUSTOM_RACK_2')).to_be_visible()
    tab.open('#/nodes?provision_state=wrong')
    page.wait_for_load_state('networkidle')
    # The alert appears once, although three requests fail.
    expect(page.get_by_role('alert')).to_have_count(1)
    expect(page.get_by_role('alert')).to_contain_text('Provision state "wrong" is not valid')


def test_a_stranger_cannot_frame_it(tab, look_around):
    """The page's policy forbids frames around it."""
    _, headers, _ = http_client.ask(look_around, 'GET', '/ui/')
    assert "frame-ancestors 'none'" in dict(headers)['content-security-policy']


def test_a_list_without_columns(tab):
    """The command shows uuids: it needs at least one field."""
    page = tab.open('#/nodes?columns=')
    page.get_by_text('The same with a command').click()
    expect(page.get_by_text('baremetal node list')).to_have_text(re.compile('--fields uuid$'))
