"""What the web page shows of capacity reservations, in a real browser."""

import json

from playwright.sync_api import expect

from tests.support import http_client
from tests.support.ui_inventory import HTML

_PATH = '/v1/capacity_reservations'


def ask(base, method, path, document=None):
    status, _, body = http_client.ask(base, method, path, document, {'X-OpenStack-Ironic-API-Version': '1.115'})
    assert status < 300, body
    return json.loads(body) if body else None


def test_capacity_reservations(tab, look_around):
    """The capacity view has them if there are any, and marks those for which too few nodes are free."""
    page = tab.open('#/capacity')
    table = page.get_by_role('region', name='Table of capacity reservations')
    expect(page.get_by_role('region', name='Exclusive traits', exact=True)).to_contain_text('only matches')
    expect(table).to_have_count(0)
    free = ask(look_around, 'POST', '/v1/matches', {'required': ['CUSTOM_RACK_2']})['nodes']
    taken = f'/v1/nodes/{free[0]["uuid"]}/maintenance'
    promises = [
        {'name': 'spare', 'project': 'x', 'count': 1, 'required': ['CUSTOM_RACK_3']},
        {'name': 'racks', 'project': HTML, 'count': len(free), 'required': ['CUSTOM_RACK_2']},
    ]
    promises[1]['topology'] = [{'key': 'trait:CUSTOM_RACK_', 'policy': 'affinity'}]
    promises[1]['expires_at'] = '2099-01-01T00:00:00+00:00'
    uuids = [ask(look_around, 'POST', _PATH, promise)['uuid'] for promise in promises]
    try:
        page.reload()
        rows = table.locator('tbody tr')
        expect(rows).to_have_text(
            [
                f'racksall in CUSTOM_RACK_2{HTML}{len(free)}0{len(free)}0Jan 1, 2099, 12:00:00 AM',
                'sparex1010it is deleted',
            ]
        )
        ask(look_around, 'PUT', taken, {})
        page.get_by_role('button', name='Count').click()
        expect(rows.first.locator('.state.bad')).to_have_text('1')
        expect(page.get_by_role('region', name='Capacity reservations', exact=True)).to_contain_text('Too few nodes')
        tab.check_accessibility()
        page.set_viewport_size({'width': 360, 'height': 800})
        label = "(cell) => getComputedStyle(cell, '::before').content"
        assert 'Short' in rows.first.locator('td').nth(5).evaluate(label)
        assert page.evaluate('window.hacked') is None
    finally:
        ask(look_around, 'DELETE', taken)
        for uuid in uuids:
            ask(look_around, 'DELETE', f'{_PATH}/{uuid}')
