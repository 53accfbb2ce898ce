"""Flavors of nova and images of Glance in the view "Why" of the web page, in a real browser."""

import json

import pytest
from playwright.sync_api import expect

from tests.functional.test_glance import IMAGE, stub
from tests.support import browser as browsers
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
def base(tmp_path_factory):
    """The base URL of a service that reads flavors and images."""
    folder = tmp_path_factory.mktemp('picks')
    url = upgraded(f'sqlite:///{folder}/x.sqlite')
    ui_inventory.fill(url)
    with stub(_respond) as endpoint:
        sections = (f'[{name}]\nendpoint_override = {endpoint}\n' for name in ('nova', 'glance'))
        (folder / 'x.conf').write_text(''.join(sections))
        with ForkedServer(url, '--config-file', str(folder / 'x.conf'), '--nostart-worker') as running:
            yield running.base


def test_a_flavor_and_an_image_are_picked(user, base):
    with browsers.tab_in(user, base) as tab:
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


def test_without_nova_and_glance(tab):
    tab.expected = ['400']
    page = tab.open(f'#/why?image={{"id": "{IMAGE}"}}')
    expect(page.get_by_role('alert')).to_contain_text('[glance] endpoint_override is not set')
    page.get_by_label('or a flavor of nova').focus()
    expect(page.get_by_text('There is no list of flavors')).to_contain_text('[nova] endpoint_override is not set')
