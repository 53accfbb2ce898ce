"""The view "Why" of the web page in a real browser: flavors of nova, images of Glance, links, and groups of nodes."""

import json
import re
import shlex
import urllib.parse

import pytest
from playwright.sync_api import expect

from tests.functional.search.test_glance import IMAGE, stub
from tests.support import http_client, ui_inventory
from tests.support.cli import BAREMETAL, rows
from tests.support.service import ForkedServer, upgraded

_FLAVORS = {
    'gold': {'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_NIC_100G': 'required'},
    'virtual': {'hw:cpu_policy': 'dedicated'},
}


def _respond(environ):
    """Return a list of flavors, as nova does, or an image, as Glance does."""
    if 'flavors' in environ['PATH_INFO']:
        flavors = [{'id': name, 'name': name, 'extra_specs': specs} for name, specs in _FLAVORS.items()]
        return '200 OK', json.dumps({'flavors': flavors}).encode()
    image = {'id': IMAGE, 'name': 'debian', 'status': 'active', 'trait:CUSTOM_TIER_1': 'required'}
    is_list = 'name=debian' in environ['QUERY_STRING']
    return '200 OK', json.dumps({'images': [image]} if is_list else image).encode()


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    """A service that reads flavors and images."""
    folder = tmp_path_factory.mktemp('picks')
    url = upgraded(f'sqlite:///{folder}/x.sqlite')
    ui_inventory.fill(url)
    with stub(_respond) as endpoint:
        sections = (f'[{name}]\nendpoint_override = {endpoint}\n' for name in ('nova', 'glance'))
        (folder / 'x.conf').write_text(''.join(sections))
        with ForkedServer(url, '--config-file', str(folder / 'x.conf'), '--nostart-worker') as running:
            yield running


@pytest.fixture(scope='module')
def look_around(service):
    return service.base


def test_the_commands_of_two_groups(tab):
    """The command has both, and without a class there is no query of Placement, which wants resources."""
    page = tab.open('#/why?one_of=CUSTOM_TIER_1,CUSTOM_TIER_2&one_of_2=CUSTOM_NIC_100G,CUSTOM_NIC_25G')
    command = page.locator('.command', has_text='baremetal match')
    options = '--trait-any CUSTOM_TIER_1 CUSTOM_TIER_2 --trait-any CUSTOM_NIC_100G CUSTOM_NIC_25G'
    expect(command).to_contain_text(f'baremetal match {options} --explain')
    expect(page.locator('.command', has_text='allocation_candidates')).to_have_count(0)
    page = tab.open('#/why?one_of=CUSTOM_TIER_1&resource_class=gold')
    expect(page.locator('.command', has_text='allocation_candidates')).to_have_count(1)


def test_all_nodes_that_match(tab):
    """The first ones are shown, and the others on request."""
    page = tab.open('#/why?provision_state=available&forbidden=CUSTOM_NOPE')
    shown = page.get_by_role('region', name='Nodes that match').locator('tbody tr')
    expect(shown).to_have_count(8)
    more = page.get_by_role('button', name=re.compile(r'Show \d+ others'))
    others = int(more.inner_text().split()[1])
    more.click()
    expect(shown).to_have_count(8 + others)
    expect(more).to_have_count(0)


def test_a_flavor_and_an_image_are_picked(tab):
    page = tab.open('#/why')
    name = page.get_by_label('Flavor of nova')
    name.focus()
    offered = page.locator('#nova-flavors option')
    expect(offered).to_have_count(1)
    expect(offered).to_have_attribute('value', 'gold')
    name.fill('gold')
    page.get_by_role('button', name='Ask').click()
    matches = page.get_by_role('status').filter(has_text='of 24 match')
    expect(matches).to_have_text('5 nodes of 24 match')
    for image in (IMAGE, 'debian'):
        page.get_by_label('Image of Glance').fill(image)
        page.get_by_role('button', name='Ask').click()
        expect(page).to_have_url(re.compile(f'image_name={image}'))
        expect(matches).to_have_text('1 node of 24 matches')
    page.get_by_text('A flavor or an image as JSON').click()
    page.get_by_label('Flavor', exact=True).fill('{}')
    page.get_by_role('button', name='Ask').click()
    expect(page.get_by_role('alert')).to_have_text('Enter either a flavor, or the name of one of nova.')
    expect(name).to_have_accessible_description('Enter either a flavor, or the name of one of nova.')
    expect(name).to_be_focused()
    tab.check_accessibility()


def test_only_some_of_the_nodes(tab):
    """Filters limit the nodes, and what would help drops them like other conditions."""
    page = tab.open('#/why')
    page.get_by_text('Only nodes with …').click()
    field = page.get_by_label('Owner')
    field.focus()
    expect(page.locator('#values-of-owner option[value="web"]')).to_have_count(1)
    field.fill('web')
    page.get_by_label('Conductor group').fill('nowhere')
    page.get_by_role('button', name='Ask').click()
    expect(page.get_by_role('status').filter(has_text='match')).to_have_text(
        re.compile('^No node matches; without .*conductor group nowhere.* [0-9]+ match')
    )
    expect(page.get_by_role('rowheader', name='has the conductor group nowhere')).to_be_visible()
    button = page.get_by_role('button', name=re.compile('^Drop .*conductor group nowhere'))
    button.first.click()
    expect(page.get_by_text('would match.')).to_be_visible()
    # The commands would ask for other nodes.
    expect(page.get_by_text('allocation_candidates')).to_have_count(0)
    page.reload()
    expect(field).to_have_value('web')
    tab.check_accessibility()


def test_the_capacity_of_flavors_of_nova(tab):
    page = tab.open('#/capacity')
    field = page.get_by_label('Flavors of nova')
    field.focus()
    expect(page.locator('#nova-flavors option')).to_have_attribute('value', 'gold')
    row = page.get_by_role('table', name='Nodes for each flavor').get_by_role('row', name=re.compile('^gold'))
    for names in ('gold', '*', ' gold , '):
        tab.open('#/capacity')
        expect(row.get_by_role('link').first).to_be_visible()
        field.fill(names)
        page.get_by_role('button', name='Count').click()
        expect(page.get_by_text('by flavor')).to_be_visible()
        # A flavor asks for more than a class, so there is no list of its nodes.
        expect(row.get_by_role('link')).to_have_count(0)
        expect(row).to_contain_text('8 nodes')
    tab.check_accessibility()
    page.get_by_text('Flavors and images as JSON').click()
    page.get_by_role('textbox', name='Flavors', exact=True).fill('{"a": {}}')
    page.get_by_role('button', name='Count').click()
    expect(field).to_have_accessible_description('Name flavors of nova, or paste others.')


def test_one_of_several_traits(tab):
    page = tab.open('#/why')
    page.get_by_label('One of these traits', exact=True).fill('CUSTOM_RACK_1 CUSTOM_RACK_3')
    page.get_by_role('button', name='Add one of others').click()
    page.get_by_label('And one of these traits').first.fill('CUSTOM_RAID_6')
    page.get_by_role('button', name='Ask').click()
    matches = page.get_by_role('status').filter(has_text='of 24 match')
    expect(matches).to_have_text('6 nodes of 24 match')
    page.reload()
    expect(page.get_by_label('And one of these traits').first).to_have_value('CUSTOM_RAID_6')
    expect(matches).to_have_text('6 nodes of 24 match')
    tab.check_accessibility()


def _with_a_relaxation(route):
    """Add a relaxation that no node of the inventory causes."""
    document = route.fetch().json()
    relaxation = {'drop': ['eligible:maintenance', 'required:CUSTOM_GOLD'], 'nodes': 1}
    document['explanation']['relaxations'].append(relaxation)
    route.fulfill(json=document)


def test_a_relaxation_without_a_condition_on_the_state(tab):
    """It links to the nodes with the class and the other traits."""
    tab.page.route('**/v1/matches', _with_a_relaxation)
    flavor = urllib.parse.quote(json.dumps({'resources:CUSTOM_STORAGE': 1}))
    page = tab.open(f'#/why?flavor={flavor}&required=CUSTOM_RAID_6,CUSTOM_GOLD')
    page.get_by_role('link', name='Without “is not in maintenance”').click()
    expect(page.get_by_role('status').first).to_have_text('8 nodes')
    expect(page.locator('.chip')).to_have_text(['has CUSTOM_RAID_6×', 'Resource class storage×'])


def test_requests_that_are_wrong(tab):
    tab.expected = ['400']
    for flavor, message in (
        ('{"a": ', 'The flavor is not JSON'),
        ('[]', 'must be a JSON object'),
        ('{"trait:nonsense x": "required"}', 'trait'),
    ):
        page = tab.open(f'#/why?flavor={urllib.parse.quote(flavor)}')
        expect(page.get_by_role('alert')).to_contain_text(message)


@pytest.mark.parametrize(
    ('place', 'label'),
    [
        ('why?required=HW_CPU_X86_VMX&forbidden=CUSTOM_A,NO_TRAIT', 'Forbidden traits'),
        ('why?one_of_2=NO_TRAIT,CUSTOM_A', 'And one of these traits'),
        ('capacity?gains=CUSTOM_A&loses=NO_TRAIT', 'and not these'),
        # The message also has a name of the other field.
        ('why?required=HW_CPU_X86_VMX&forbidden=HW_CPU_X86_VMXX', 'Forbidden traits'),
    ],
)
def test_a_wrong_trait_is_shown_at_its_field(tab, place, label):
    tab.expected = ['400']
    page = tab.open(f'#/{place}')
    field = page.get_by_label(label, exact=True).and_(page.locator('[aria-invalid="true"]'))
    expect(field).to_have_count(1)
    expect(field).to_be_focused()
    expect(page.get_by_role('alert')).to_have_count(1)
    expect(page.get_by_role('alert')).to_contain_text('is not a trait')
    assert field.get_attribute('aria-describedby') == page.get_by_role('alert').get_attribute('id')
    tab.check_accessibility()
    field.fill('CUSTOM_B')
    page.get_by_role('button', name='Ask').or_(page.get_by_role('button', name='Count')).click()
    expect(page.get_by_role('alert')).to_have_count(0)


def _why(**parameters):
    return f'#/why?{urllib.parse.urlencode(parameters)}'


_RACK = {'key': 'trait:CUSTOM_RACK_', 'policy': 'affinity'}


def _command(page):
    """The command line of the client for the request that the page shows."""
    return page.locator('.command', has_text='baremetal').locator('code')


def test_nodes_of_one_rack(tab):
    page = tab.open('#/why')
    page.get_by_label('Required traits').fill('CUSTOM_GPU_A100')
    page.get_by_label('Nodes', exact=True).fill('5')
    first = page.get_by_role('group', name='Groups of nodes')
    first.get_by_label('Key').fill('trait:CUSTOM_RACK_')
    page.get_by_role('button', name='Ask').click()
    expect(page.get_by_role('alert')).to_contain_text('enter a key, and also a policy')
    first.get_by_label('Policy').select_option('all in one group')
    page.get_by_role('button', name='Ask').click()
    expect(page.get_by_text('Chosen: 0 of 5 nodes')).to_be_visible()
    groups = page.get_by_role('table', name='The best groups')
    best = groups.get_by_role('row').nth(1)
    expect(best).to_contain_text('CUSTOM_RACK_2')
    expect(best.get_by_role('cell')).to_have_text(['', '4', '1'])
    without = 'Without CUSTOM_GPU_A100'
    expect(groups.get_by_role('row', name='CUSTOM_RACK_3')).to_contain_text(f'{without}: 6 nodes')
    # With no nodes, no policy is met.
    expect(page.get_by_text('met', exact=True)).to_have_count(0)
    tab.check_accessibility()
    page.get_by_role('button', name='Drop CUSTOM_GPU_A100').click()
    expect(page.get_by_text('5 nodes could be chosen.')).to_be_visible()
    # The URL has the whole request, and the relaxation.
    page.reload()
    expect(page.get_by_text('5 nodes could be chosen.')).to_be_visible()
    expect(first.get_by_label('Policy')).to_have_value('affinity')
    row = page.get_by_role('region', name='Nodes that match').locator('tbody tr').first
    expect(row.locator('td').nth(1)).to_have_text(re.compile('^CUSTOM_RACK_[13]$'))


def test_a_request_without_a_policy(tab):
    """What would help may be to drop a key. The other keys stay."""
    page = tab.open(_why(**_RACK, count=8, key_2='shard', policy_2='soft-affinity'))
    page.get_by_role('button', name='Drop “is in one group of trait:CUSTOM_RACK_”').click()
    expect(page.get_by_text('8 nodes could be chosen.')).to_be_visible()
    row = page.get_by_role('region', name='Nodes that match').locator('tbody tr').first
    expect(row.locator('td').nth(1)).to_have_text(re.compile('^shard s[01]$'))


def test_several_keys(tab):
    page = tab.open(_why(**_RACK, count=5, relative_to=ui_inventory.INSTANCE))
    expect(page.get_by_role('combobox', name='Key')).to_have_count(1)
    page.get_by_role('button', name='Add a key').click()
    second = page.get_by_role('group', name='And')
    second.get_by_label('Key').fill('shard')
    second.get_by_label('Policy').select_option('spread if possible')
    second.get_by_label('At most per group').fill('4')
    page.get_by_role('button', name='Ask').click()
    policies = page.get_by_role('region', name='Groups').get_by_role('listitem')
    expect(policies).to_have_text(
        [
            'met trait:CUSTOM_RACK_, all in one group: CUSTOM_RACK_1 has 6',
            'not met shard, spread if possible: s0 has 3, s1 has 3',
        ]
    )
    expect(page.get_by_role('region', name='Nodes that match').locator('tbody tr')).to_have_count(5)
    # Placement has no groups of nodes.
    expect(page.locator('.command .label')).to_have_text(['curl', 'baremetal'])


@pytest.mark.parametrize(
    'parameters',
    [
        {**_RACK, 'prefer': 'fullest', 'count': 4},
        {**_RACK, 'policy': 'anti-affinity', 'max_per_group': 2, 'relative_to': ui_inventory.INSTANCE},
        {
            **_RACK,
            'policy': 'soft-anti-affinity',
            'key_2': 'shard',
            'policy_2': 'soft-affinity',
            'max_per_group': 3,
            'count': 6,
        },
    ],
)
def test_the_command_chooses_the_same_nodes(tab, service, parameters):
    page = tab.open(_why(**parameters, required='HW_CPU_X86_VMX'))
    words = shlex.split(_command(page).inner_text())
    assert (words[0], words[-1]) == ('baremetal', '--explain')
    # The uuids of instances come last.
    listed = {row['Name'] for row in rows(service, *BAREMETAL, *words[1:-1])}
    table = page.get_by_role('region', name='Nodes that match').locator('tbody tr')
    assert {row.split('\t')[0] for row in table.all_inner_texts()} == listed


@pytest.mark.parametrize(
    'parameters',
    [
        {**_RACK, 'prefer': 'emptiest'},
        {'key': 'shard', 'prefer': 'fullest'},
        {**_RACK, 'max_per_group': 6, 'key_2': 'shard', 'policy_2': 'anti-affinity'},
    ],
)
def test_a_request_that_the_command_cannot_express(tab, parameters):
    page = tab.open(_why(**parameters))
    expect(page.locator('.command .label')).to_have_text(['curl'])


def test_nodes_of_one_rack_are_reserved(tab, look_around):
    tab.expected = ['409']
    page = tab.open(_why(**_RACK, count=3, prefer='fullest'))
    page.get_by_label('Instances (uuids)').fill(ui_inventory.INSTANCE)
    page.get_by_role('button', name='Reserve', exact=True).click()
    expect(page.get_by_role('alert')).to_have_text('Enter 3 uuids, or none.')
    page.get_by_label('Instances (uuids)').fill('')
    with page.expect_response('**/v1/reservations') as answer:
        page.get_by_role('button', name='Reserve', exact=True).click()
    reservations = answer.value.json()['reservations']
    try:
        done = page.get_by_role('status').filter(has_text='is held for the instance')
        expect(done.get_by_role('link')).to_have_count(3)
        expect(done.get_by_text(' in CUSTOM_RACK_2 is held')).to_have_count(3)
        expect(done.get_by_role('listitem')).to_contain_text('CUSTOM_RACK_2 has 3')
        assert len({each['instance_uuid'] for each in reservations}) == 3
        tab.check_accessibility()
    finally:
        for each in reservations:
            http_client.ask(look_around, 'DELETE', f'/v1/reservations/{each["uuid"]}')
