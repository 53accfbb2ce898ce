"""The view "Why" of the web page in a real browser: flavors of nova, images of Glance, and links."""

import json
import urllib.parse

import pytest
from playwright.sync_api import expect

from tests.functional.search.test_glance import IMAGE, stub
from tests.support import ui_inventory
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
    return '200 OK', json.dumps({'id': IMAGE, 'status': 'active', 'trait:CUSTOM_TIER_1': 'required'}).encode()


@pytest.fixture(scope='module')
def look_around(tmp_path_factory):
    """The base URL of a service that reads flavors and images."""
    folder = tmp_path_factory.mktemp('picks')
    url = upgraded(f'sqlite:///{folder}/x.sqlite')
    ui_inventory.fill(url)
    with stub(_respond) as endpoint:
        sections = (f'[{name}]\nendpoint_override = {endpoint}\n' for name in ('nova', 'glance'))
        (folder / 'x.conf').write_text(''.join(sections))
        with ForkedServer(url, '--config-file', str(folder / 'x.conf'), '--nostart-worker') as running:
            yield running.base


def test_a_flavor_and_an_image_are_picked(tab):
    page = tab.open('#/why')
    name = page.get_by_label('or a flavor of nova')
    name.focus()
    offered = page.locator('#nova-flavors option')
    expect(offered).to_have_count(1)
    expect(offered).to_have_attribute('value', 'gold')
    name.fill('gold')
    page.get_by_role('button', name='Ask').click()
    matches = page.get_by_role('status').filter(has_text='of 24 match')
    expect(matches).to_have_text('5 nodes of 24 match')
    page.get_by_label('or an image of Glance').fill(IMAGE)
    page.get_by_role('button', name='Ask').click()
    expect(matches).to_have_text('1 node of 24 matches')
    page.get_by_label('Flavor', exact=True).fill('{}')
    page.get_by_role('button', name='Ask').click()
    expect(page.get_by_role('alert')).to_have_text('Enter either a flavor, or the name of one of nova.')
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
