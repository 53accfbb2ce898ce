"""What mirrors wait for, on the page of the nodes, in a real browser."""

import pytest
from playwright.sync_api import expect

from ironic_traits.inventory.mirrored import mirror_clouds, mirror_deletions
from tests.support import browser as browsers
from tests.support.mirrored_nodes import UUIDS, Store
from tests.support.service import ForkedServer, make_app, upgraded


@pytest.fixture
def url(tmp_path):
    """The database of a mirror with three nodes, two of which are missing in their cloud."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with make_app(url) as app:
        far = Store(app.service, 'far')
        far.nodes(*({'number': number, 'name': f'node{number}'} for number in range(3)))
        moment = mirror_clouds.now(far.context)
        mirror_clouds.save(app.service, far.turn, passed_at=moment, write='operator')
        assert mirror_deletions.waiting(far.context, far.turn, UUIDS[:2], 1) == set(UUIDS[:2])
    return url


def test_decisions(url, user):
    with ForkedServer(url, '--nostart-worker') as server, browsers.tab_in(user, server.base) as tab:
        page = tab.open('#/nodes')
        missing = page.get_by_role('status').filter(has_text='no longer shows 2 nodes')
        expect(page.get_by_text('Traits wait to be written to cloud far')).to_be_visible()
        missing.get_by_role('button', name='Delete them here').click()
        page.get_by_role('dialog').get_by_role('button', name='Delete', exact=True).click()
        expect(missing).to_have_count(0)
    with make_app(url) as app:
        far = Store(app.service, 'far')
        assert [row.confirmed for row in mirror_deletions.find(far.context, 'far')] == [True, True]
        assert mirror_deletions.waiting(far.context, far.turn, UUIDS[:2], 1) == set()
