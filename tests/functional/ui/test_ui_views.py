"""The other views of the web page, in a real browser: a node, why, reservations, rules and changes."""

import json
import re
import urllib.parse

import pytest
from playwright.sync_api import expect

from ironic_traits.deploy import states
from tests.functional.search.test_glance import IMAGE
from tests.support import browser as browsers
from tests.support import http_client, ui_inventory
from tests.support.ironic_server import shows_conductor
from tests.support.service import ForkedServer, upgraded
from tests.support.ui_inventory import HTML

FLAVOR = {'resources:CUSTOM_GOLD': '1', 'trait:HW_CPU_X86_VMX': 'required'}


def ask(base, method, path, document=None):
    """Send a request to the API, and return the document of the response."""
    headers = {'X-OpenStack-Ironic-API-Version': '1.115', 'Content-Type': 'application/json'}
    status, _, body = http_client.ask(base, method, path, document, headers)
    assert status < 300, body
    return json.loads(body) if body else None


def uuid_of(base, name):
    return ask(base, 'GET', f'/v1/nodes/{name}?fields=uuid')['uuid']


@pytest.fixture(scope='module')
def own(tmp_path_factory):
    """The base URL of a service of this module, whose worker executes verbs."""
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("views")}/x.sqlite')
    ui_inventory.fill(url)
    with ForkedServer(url) as running:
        # The worker starts after the API, and later than a test waits if the machine is busy.
        running.wait_until(lambda: shows_conductor(running.base))
        yield running.base


@pytest.fixture(scope='module')
def look_around(own):
    """The same service, because starting another one takes longer than most tests."""
    return own


@pytest.fixture
def writing(user, own):
    """A tab of the service whose nodes the tests change."""
    with browsers.tab_in(user, own) as opened:
        yield opened


def test_a_node(tab, look_around):
    uuid = uuid_of(look_around, 'rack1-4')
    page = tab.open(f'#/nodes/{uuid}')
    traits = page.get_by_role('region', name='Traits and their sources')
    expect(traits.locator('tr', has_text='CUSTOM_TIER_1')).to_contain_text('terraform')
    expect(traits.locator('tr', has_text='HW_NUMA_ROOT')).to_contain_text('vetoed')
    expect(page.get_by_role('heading', level=1)).to_have_text('rack1-4')
    page.get_by_role('button', name='Show the data of inspections').click()
    expect(page.locator('dd', has_text='A CPU')).to_have_text(f'A CPU {HTML} · 64 threads · x86_64')
    expect(page.locator('.timeline li').first).to_be_visible()
    moment = page.locator('.timeline time').first
    assert moment.get_attribute('title').endswith(' UTC')
    tab.check_accessibility()
    assert page.evaluate('window.hacked') is None
    page.locator('.timeline li', has_text='bmc-scan:').get_by_role('link').click()
    expect(page.get_by_role('heading', name=re.compile('^Traits at '))).to_be_visible()
    expect(page.locator('.trait.gone').first).to_have_text('HW_NUMA_ROOT')
    expect(page.locator('.trait.new').first).to_be_visible()
    assert 'at=' in page.url
    tab.check_accessibility()
    page.get_by_role('link', name='Back to now').click()
    expect(traits).to_be_visible()


def test_times_are_those_of_the_reader(browser, look_around):
    uuid = uuid_of(look_around, 'rack1-4')
    with browsers.tab(browser, look_around, timezone_id='Asia/Tokyo', locale='en-GB') as opened:
        page = opened.open(f'#/nodes/{uuid}')
        moment = page.locator('.timeline time').first
        expect(moment).to_be_visible()
        hour = int(re.search(r'(\d\d):\d\d:\d\d', moment.inner_text())[1])
        assert hour == (int(re.search(r'(\d\d):\d\d:\d\d', moment.get_attribute('title'))[1]) + 9) % 24
        # The tables have the time in the reader's zone, too.
        text = moment.inner_text()
        page = opened.open('#/changes?node=rack1-4')
        expect(page.locator('tbody time').first).to_contain_text(text)
        expect(page.locator('tbody time').first).to_contain_text(' ago')


def test_a_node_that_does_not_exist(tab):
    tab.expected = ['404']
    page = tab.open('#/nodes/no-such-node')
    expect(page.get_by_role('alert')).to_contain_text('no-such-node')
    expect(page.get_by_role('alert')).to_contain_text('It may have been deleted')
    expect(page.get_by_role('heading', level=1)).to_have_text('no-such-node')


def test_tables_on_a_phone(browser, look_around):
    """A table may be wider than the screen, but then its frame scrolls, and not the page."""
    places = ('reservations', 'changes', f'nodes/{uuid_of(look_around, "rack1-4")}', 'why?resource_class=gold')
    with browsers.tab(browser, look_around, viewport={'width': 375, 'height': 700}) as opened:
        for place in places:
            page = opened.open(f'#/{place}')
            expect(page.locator('tbody tr').first).to_be_visible()
            assert page.evaluate('document.documentElement.scrollWidth') == 375, place


def test_an_edit_with_its_preview(writing, own):
    uuid = uuid_of(own, 'rack1-5')
    page = writing.open(f'#/nodes/{uuid}')
    page.get_by_role('button', name='Edit').click()
    page.get_by_role('button', name='Remove CUSTOM_NIC_100G').click()
    page.get_by_label('Add a trait').fill('custom_nic_200g')
    page.get_by_label('Add a trait').press('Enter')
    writing.check_accessibility()
    page.get_by_role('button', name='Preview').click()
    note = page.get_by_role('status').filter(has_text='would change the node')
    expect(note).to_contain_text('CUSTOM_NIC_200G')
    # Another client changes the node, so the preview is outdated.
    writing.expected = ['409']
    ask(own, 'PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_OTHER')
    page.get_by_role('button', name='Apply').click()
    expect(page.get_by_role('alert')).to_contain_text('preview')
    page.get_by_role('button', name='Preview').click()
    page.get_by_role('button', name='Apply').click()
    expect(page.get_by_role('region', name='Traits and their sources')).to_contain_text('CUSTOM_NIC_200G')
    traits = ask(own, 'GET', f'/v1/nodes/{uuid}/traits')['traits']
    assert {'CUSTOM_NIC_200G', 'CUSTOM_OTHER'} <= set(traits)
    assert 'CUSTOM_NIC_100G' not in traits
    expect(page.locator('.timeline li').first).to_contain_text('CUSTOM_NIC_200G')


def test_the_timeline_follows_a_reservation(writing, own):
    page = writing.open(f'#/nodes/{uuid_of(own, "rack1-7")}')
    browsers.reserve_and_release(page)


def test_ports_and_data_of_an_inspection_appear(writing, own):
    """The ports and data of an inspection appear on the open page."""
    uuid = uuid_of(own, 'rack2-6')
    page = writing.open(f'#/nodes/{uuid}')
    writing.expected = ['404']
    page.get_by_role('button', name='Show the data of inspections').click()
    expect(page.get_by_text('There are no data.')).to_be_visible()
    ask(own, 'PUT', f'/v1/nodes/{uuid}/inventory', {'inventory': {'memory': {'physical_mb': 4096}}})
    ask(own, 'POST', '/v1/ports', {'node_uuid': uuid, 'address': '52:54:00:aa:bb:cc'})
    page.get_by_role('button', name='Set maintenance').click()
    page.get_by_role('dialog').get_by_role('button', name='Set maintenance').click()
    expect(page.get_by_text('4 GiB', exact=True)).to_be_visible()
    expect(page.get_by_role('region', name='Table of ports')).to_contain_text('52:54:00:aa:bb:cc')


def test_an_edit_that_is_refused(writing, own):
    writing.expected = ['400']
    page = writing.open(f'#/nodes/{uuid_of(own, "rack1-6")}')
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Add a trait').fill('HW_CPU_X86_VMXX')
    page.get_by_label('Add a trait').press('Enter')
    page.get_by_role('button', name='Preview').click()
    expect(page.get_by_role('alert')).to_contain_text("Did you mean 'HW_CPU_X86_VMX'?")


def test_verbs_and_maintenance(writing, own):
    """The page follows what the worker does."""
    page = writing.open(f'#/nodes/{uuid_of(own, "rack3-3")}')
    page.get_by_role('button', name='deploy', exact=True).click()
    expect(page.get_by_role('dialog')).to_contain_text('written to the disks')
    writing.check_accessibility()
    page.get_by_role('dialog').get_by_role('button', name='deploy').click()
    expect(page.locator('.title .state').first).to_have_text('active')
    page.get_by_role('button', name='Set maintenance').click()
    page.get_by_label('Reason').fill(HTML)
    page.get_by_role('dialog').get_by_role('button', name='Set maintenance').click()
    expect(page.get_by_text(f'yes: {HTML}')).to_be_visible()
    page.get_by_role('button', name='End maintenance').click()
    expect(page.get_by_role('button', name='Set maintenance')).to_be_visible()


#: Verbs that the page does not offer: other names of verbs, and verbs that need arguments.
_LEFT_OUT = {'deploy', 'undeploy', 'clean', 'service', 'rescue'}
#: The event ends a manual cleaning. The node is locked then, so the verb is refused.
_LOCKED = {('manage', states.CLEANING)}


def test_verbs_are_those_of_the_state_machine(look_around):
    """In each state, the page offers the verbs that the state machine accepts."""
    _, _, page = http_client.ask(look_around, 'GET', '/ui/views/node_states.js')
    table = re.search(r'VERBS = \{(.*?)\n\};', page.decode(), re.DOTALL)[1]
    offered = {
        (verb, state)
        for verb, names in re.findall(r'^  (\w+): \[(.*?)\],$', table, re.MULTILINE | re.DOTALL)
        for state in re.findall(r"'([^']+)'", names)
    }
    # The expressions above find all of the table.
    assert table.count("'") == 2 * len(offered)
    assert (
        offered
        == {
            (verb, state)
            for verb in states.VERBS.keys() - _LEFT_OUT
            for state, events in states.TRANSITIONS.items()
            if states.VERBS[verb].event in events
        }
        - _LOCKED
    )


def test_power_targets_are_those_of_the_api(look_around):
    _, _, page = http_client.ask(look_around, 'GET', '/ui/views/node_states.js')
    table = re.search(r'POWER = \{(.*?)\n\};', page.decode(), re.DOTALL)[1]
    assert re.findall(r"^  '?([\w ]+)'?: \[", table, re.MULTILINE) == list(states.POWER_TARGETS)


def test_why(writing, own):
    page = writing.open('#/why')
    expect(page.get_by_text('Ask for something.')).to_be_visible()
    page.get_by_text('A flavor or an image as JSON').click()
    page.get_by_label('Flavor', exact=True).fill(json.dumps({'flavor': {'name': 'x', 'extra_specs': FLAVOR}}))
    page.get_by_label('Image', exact=True).fill('trait:CUSTOM_GPU_A100 = required')
    page.get_by_role('button', name='Ask').click()
    expect(page.get_by_role('status').first).to_have_text('No node matches; without CUSTOM_GPU_A100 5 match')
    chart = page.get_by_role('table', name=re.compile('Conditions'))
    expect(chart.get_by_role('row', name=re.compile('has the trait CUSTOM_GPU_A100'))).to_contain_text('16')
    writing.check_accessibility()
    page.get_by_role('button', name=re.compile('Drop CUSTOM_GPU_A100')).click()
    expect(page.get_by_text('nodes would match.')).to_be_visible()
    expect(page.get_by_role('region', name='Nodes that match')).to_contain_text('rack1-')
    expect(page.get_by_text('/placement/allocation_candidates?')).to_contain_text('resources=CUSTOM_GOLD')
    # The URL has the whole request, and the relaxation.
    page.reload()
    expect(page.get_by_role('status').first).to_have_text('No node matches; without CUSTOM_GPU_A100 5 match')
    expect(page.get_by_text('nodes would match.')).to_be_visible()
    page.get_by_role('button', name=re.compile('Drop CUSTOM_GPU_A100')).click()
    expect(page.get_by_text('nodes would match.')).to_have_count(0)


def test_a_reservation_from_there_and_its_release(writing, own):
    writing.expected = ['409']
    instance = 'c0ffee00-0000-4000-8000-000000000001'
    page = writing.open('#/why?required=CUSTOM_RAID_6&resource_class=storage')
    matches = page.get_by_role('status').filter(has_text='of 24 match')
    number = int(matches.inner_text().split()[0])
    page.get_by_label('Instance (uuid)').fill(instance)
    # The name of the node is unknown, but it is held.
    writing.expected.append('Failed to load resource')
    page.route('**/v1/nodes/*?fields=uuid,name', lambda route: route.abort())
    page.get_by_role('button', name='Reserve', exact=True).click()
    expect(page.get_by_role('status').filter(has_text='is held for the instance')).to_contain_text(instance)
    expect(matches).to_contain_text(f'{number - 1} nodes of 24 match')
    page.unroute('**/v1/nodes/*?fields=uuid,name')
    page.get_by_role('link', name='Reservations').click()
    row = page.locator('tr', has_text=instance)
    expect(row).to_contain_text('rack3-')
    writing.check_accessibility()
    expect(row).to_contain_text('in 59 minutes')
    row.get_by_role('button', name='Extend by 1 hour').click()
    expect(row).to_contain_text('in 1 hour')
    row.get_by_role('button', name='Release').click()
    page.get_by_role('dialog').get_by_role('button', name='Release').click()
    expect(row).to_have_count(0)
    page.get_by_label('Find a reservation').fill('rack1-3')
    page.get_by_role('button', name='Search').click()
    expect(page.locator('tbody tr')).to_have_count(1)
    uuid = page.locator('tbody td.name a').get_attribute('href').rpartition('/')[2]
    page.get_by_label('Find a reservation').fill(uuid)
    page.get_by_role('button', name='Search').click()
    page.get_by_text('The same with a command').click()
    expect(page.get_by_text(f'baremetal reservation list --node {uuid}')).to_be_visible()
    expect(page.locator('tbody tr')).to_have_count(1)
    page.get_by_label('Find a reservation').fill('rack1-7')
    page.get_by_role('button', name='Search').click()
    expect(page.get_by_text('No reservation matches.')).to_be_visible()


def test_without_nova_and_glance(tab):
    tab.expected = ['400']
    page = tab.open(f'#/why?image={{"id": "{IMAGE}"}}')
    expect(page.get_by_role('alert')).to_contain_text('[glance] endpoint_override is not set')
    page.get_by_label('Flavor of nova').focus()
    expect(page.get_by_text('There is no list of flavors')).to_contain_text('[nova] endpoint_override is not set')


def test_rules(tab):
    page = tab.open('#/rules')
    expect(page.get_by_role('heading', name='big-memory')).to_be_visible()
    page.get_by_label('Draft').fill(
        json.dumps({
            'name': 'cpus',
            'conditions': [{'op': 'gt', 'args': {'values': ['{inventory[cpu][count]}', 32]}}],
            'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_MANY_CPUS'}}],
        })
    )  # fmt: skip
    page.get_by_role('button', name='Preview').click()
    expect(page.get_by_role('status').filter(has_text='would change')).to_have_text('2 nodes would change')
    page.locator('.trace summary').first.click()
    trace = page.get_by_role('region', name='What each rule does').first
    expect(trace.locator('tr', has_text='cpus')).to_contain_text('CUSTOM_MANY_CPUS')
    tab.check_accessibility()
    assert page.evaluate('window.hacked') is None
    page.get_by_label('Draft').fill('{')
    page.get_by_role('button', name='Preview').click()
    expect(page.get_by_role('alert')).to_contain_text('The draft is not JSON')


def test_a_draft_of_a_rule_from_fields(tab):
    page = tab.open('#/rules')
    write = page.get_by_role('button', name='Write the draft')
    write.click()
    traits = page.get_by_label('A node gets these traits')
    expect(traits).to_have_accessible_description('Enter a trait.')
    tab.check_accessibility()
    traits.fill('CUSTOM_MANY_CPUS')
    page.get_by_label('if this fact').fill('inventory[cpu][count]')
    page.get_by_label('Value', exact=True).fill('33')
    write.click()
    expect(page.get_by_role('alert')).to_have_count(0)
    assert json.loads(page.get_by_label('Draft').input_value()) == {
        'name': 'many-cpus',
        'conditions': [{'op': 'ge', 'args': {'values': ['{inventory[cpu][count]}', 33]}}],
        'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_MANY_CPUS'}}],
    }
    page.get_by_role('button', name='Preview').click()
    expect(page.get_by_role('status').filter(has_text='would change')).to_have_text('2 nodes would change')
    page.get_by_label('How the fact is compared').select_option('is known')
    expect(page.get_by_label('Value', exact=True)).to_have_count(0)
    write.click()
    conditions = json.loads(page.get_by_label('Draft').input_value())['conditions']
    assert conditions == [{'op': '!is-empty', 'args': {'value': '{inventory[cpu][count]}'}}]


def test_capacity(tab):
    page = tab.open('#/capacity')
    table = page.get_by_role('table', name='Nodes for each flavor')
    expect(table.get_by_role('row', name=re.compile('^storage'))).to_contain_text('maintenance: 1')
    tab.check_accessibility()
    page.get_by_text('Flavors and images as JSON').click()
    page.get_by_role('textbox', name='Flavors').fill(json.dumps({'small': FLAVOR, HTML: {'resources:CUSTOM_GPU': 1}}))
    page.get_by_label('these nodes did not exist').fill('rack1-2')
    page.get_by_label('nodes had these traits').fill('CUSTOM_X')
    page.get_by_label('Split by').select_option('shard')
    page.get_by_role('button', name='Count').click()
    row = table.get_by_role('row', name=re.compile('^small'))
    expect(row).to_contain_text('−1')
    expect(table).to_contain_text(HTML)
    expect(table.get_by_role('row', name=re.compile('^s1'))).to_have_count(2)
    tab.check_accessibility()
    assert page.evaluate('window.hacked') is None
    page.get_by_role('textbox', name='Flavors').fill('{')
    page.get_by_role('button', name='Count').click()
    expect(page.get_by_role('alert')).to_contain_text('The flavors are not JSON')
    expect(page.get_by_role('textbox', name='Flavors')).to_have_accessible_description(
        re.compile('The flavors are not JSON')
    )


def test_numbers_of_a_class_lead_to_its_nodes(tab):
    page = tab.open('#/capacity')
    for column, filters in enumerate(({'eligible': 'true'}, {'held': 'true'}, {'eligible': 'false', 'held': 'false'})):
        row = page.get_by_role('table', name='Nodes for each flavor').get_by_role('row', name=re.compile('^gold'))
        link = row.locator('[role="cell"].number').nth(column).get_by_role('link')
        number = link.inner_text()
        link.click()
        expect(page.get_by_role('status').first).to_have_text(re.compile(f'^{number} nodes?$'))
        assert page.url.endswith(f'?{urllib.parse.urlencode({"resource_class": "gold", **filters})}')
        page.go_back()


def test_drift(tab):
    """The capacity view lists the drift between flavors, images and nodes."""
    tab.expected = ['Failed to load resource']
    page = tab.open('#/capacity')
    drift = page.get_by_role('region', name='Drift', exact=True)
    expect(drift).to_contain_text('Name flavors to see')
    specs = {name: {f'resources:CUSTOM_{name.upper()}': 1} for name in ('gold', 'gpu')}
    specs['gold'] |= {'trait:CUSTOM_TIER_2': 'forbidden'}
    specs[HTML] = {**FLAVOR, 'trait:CUSTOM_RAID_6': 'required'}
    page.get_by_text('Flavors and images as JSON').click()
    page.get_by_role('textbox', name='Flavors').fill(json.dumps(specs))
    page.get_by_role('textbox', name='Images').fill(json.dumps({HTML: {'trait:CUSTOM_MEASURED_BOOT': 'required'}}))
    page.route('**/v1/drift', lambda route: route.abort())
    page.get_by_role('button', name='Count').click()
    expect(drift.get_by_role('alert')).to_contain_text('The service does not answer.')
    page.unroute('**/v1/drift')
    drift.get_by_role('button', name='Try again').click()
    expect(drift.get_by_role('region', name='Nodes that no flavor matches')).to_contain_text('rack3-1')
    expect(drift.get_by_role('region', name='Nodes that no flavor matches').locator('li')).to_have_count(8)
    absent = drift.get_by_role('region', name='Traits that images require and no node has')
    expect(absent).to_contain_text(f'CUSTOM_MEASURED_BOOT {HTML}')
    expect(drift.get_by_role('region', name='Retired traits that are used')).to_contain_text('CUSTOM_TIER_1 1 node')
    unused = drift.get_by_role('region', name='Traits that no flavor and no image names')
    expect(unused.get_by_role('link', name='8 nodes with CUSTOM_RACK_2')).to_be_visible()
    tab.check_accessibility()
    unsatisfied = drift.get_by_role('region', name='Flavors that no node matches')
    expect(unsatisfied).to_contain_text('without “is of the class CUSTOM_GOLD”, 8 nodes would match.')
    assert page.evaluate('window.hacked') is None
    unsatisfied.get_by_role('link', name='Why').click()
    expect(page.get_by_role('status').first).to_have_text(re.compile('^No node matches; without '))
    page.go_back()
    expect(unsatisfied).to_be_visible()
    # The real inventory has some drift, so fake a response without any.
    nothing = {
        name: [] for name in ('unsatisfied', 'unused_traits', 'unreached_nodes', 'retired_traits', 'changed_flavors')
    }
    nothing |= {'unreached': 0, 'absent_image_traits': [], 'warnings': [f'Flavor x: {HTML}']}
    page.route('**/v1/drift', lambda route: route.fulfill(json=nothing))
    page.get_by_role('textbox', name='Flavors').fill(json.dumps([{'name': 'any', 'extra_specs': FLAVOR, 'vcpus': 8}]))
    page.get_by_role('button', name='Count').click()
    expect(drift).to_contain_text('Everything fits.')
    expect(drift).to_contain_text(HTML)
    page.get_by_role('textbox', name='Images').fill('[1]')
    page.get_by_role('button', name='Count').click()
    expect(page.get_by_role('alert')).to_have_text('The images must be a JSON object, or a list of objects.')
    expect(drift).to_have_count(0)


def test_exclusive_traits(tab):
    """The capacity view previews and makes traits exclusive, and ends it."""
    page = tab.open('#/capacity')
    card = page.get_by_role('region', name='Exclusive traits', exact=True)
    expect(card).to_contain_text('only matches requests that require it')
    page.get_by_text('Flavors and images as JSON').click()
    page.get_by_role('textbox', name='Flavors').fill(json.dumps({HTML: {'trait:CUSTOM_NONE': 'forbidden'}}))
    page.get_by_role('button', name='Count').click()
    expect(page.get_by_role('region', name='Capacity', exact=True)).to_contain_text('24')
    tab.expected = ['Failed to load resource']
    card.get_by_role('textbox', name='Another trait').fill('CUSTOM-RACK')
    card.get_by_role('button', name='Preview CUSTOM-RACK').click()
    expect(card.get_by_role('alert')).to_contain_text('CUSTOM-RACK')
    card.get_by_role('textbox', name='Another trait').fill('CUSTOM_RACK_2')
    card.get_by_role('button', name='Preview CUSTOM_RACK_2').click()
    expect(card.get_by_role('status')).to_contain_text(f'{HTML} matches 24 nodes now, and 16 then.')
    tab.check_accessibility()
    card.get_by_role('button', name='Make CUSTOM_RACK_2 exclusive').click()
    expect(card.get_by_role('listitem')).to_contain_text('CUSTOM_RACK_2 8 nodes')
    expect(page.get_by_role('region', name='Capacity', exact=True)).to_contain_text('16')
    drift = page.get_by_role('region', name='Drift', exact=True)
    expect(drift).to_contain_text('Nodes that no flavor matches 8')
    card.get_by_role('button', name='Preview CUSTOM_RACK_2').click()
    expect(card.get_by_role('status')).to_contain_text('matches 16 nodes now, and 24 then.')
    card.get_by_role('button', name='End CUSTOM_RACK_2 exclusive').click()
    expect(card.get_by_role('listitem')).to_have_count(0)
    expect(drift).not_to_contain_text('Nodes that no flavor matches')
    assert page.evaluate('window.hacked') is None


def test_firmware(tab):
    """The capacity view shows how many nodes have which firmware, if BMCs have listed any."""
    page = tab.open('#/capacity')
    firmware = page.get_by_role('region', name='Firmware', exact=True)
    expect(page.get_by_role('region', name='Drift', exact=True)).to_be_visible()
    expect(firmware).to_have_count(0)
    rows = [
        {'vendor': 'Dell Inc.', 'model': model, 'name': HTML, 'version': '2.19.1', 'nodes': nodes}
        for model, nodes in (('R750', 2), ('R760', 1))
    ]
    page.route('**/v1/drift', lambda route: route.fulfill(json={'firmware': rows}))
    page.reload()
    expect(firmware.get_by_role('region', name='Dell Inc. R750')).to_contain_text(f'{HTML} 2.19.1: 2 nodes')
    expect(firmware.get_by_role('region', name='Dell Inc. R760')).to_contain_text('2.19.1: 1 node')
    tab.check_accessibility()
    assert page.evaluate('window.hacked') is None


def test_changes(tab):
    page = tab.open('#/changes')
    expect(page.locator('tbody tr')).to_have_count(50)
    # One of the nodes is deleted, so its name is unknown.
    gone = page.locator('tbody tr', has_text='The node was deleted.').get_by_role('link')
    expect(gone).to_have_text(re.compile('^[0-9a-f-]{36}$'))
    expect(page.get_by_role('link', name='rack1-4').first).to_be_visible()
    tab.check_accessibility()
    page.get_by_role('link', name='Next page').click()
    expect(page.get_by_role('link', name='First page')).to_be_visible()
    page.get_by_label('Kind').select_option('trait')
    page.get_by_label('Source').fill('terraform')
    page.get_by_label('Trait', exact=True).fill('custom_tier_1')
    page.get_by_role('button', name='Filter').click()
    expect(page.locator('tbody tr')).to_have_count(1)
    page.locator('tbody tr').get_by_role('link').click()
    expect(page.get_by_role('heading', name=re.compile('^Traits at '))).to_be_visible()


def test_a_view_that_nothing_answers(tab):
    """Each view reports that the service does not respond, and offers another try."""
    tab.expected = ['Failed to load resource']
    page = tab.open()
    expect(page.locator('tbody tr').first).to_be_visible()
    page.route('**/v1/**', lambda route: route.abort())
    for view in ('Capacity', 'Reservations', 'Rules', 'Changes'):
        page.get_by_role('link', name=view).click()
        expect(page.get_by_role('alert').first).to_contain_text('The service does not answer.')
        expect(page.get_by_role('button', name='Try again').first).to_be_visible()


def test_a_capacity_without_flavors(tab):
    page = tab.open('#/capacity?flavors=[]')
    expect(page.get_by_text('No flavor is named.')).to_be_visible()
    page.get_by_role('link', name='Reset').click()
    expect(page.get_by_role('table', name='Nodes for each flavor')).to_be_visible()
