"""Changes that a mirror could miss or notice late: hosts with different clocks, and long lists."""

import time

import pytest

from ironic_traits.mirror.cloud import Cloud
from ironic_traits.mirror.follower import Follower
from tests.functional.mirror.test_mirror import ironic, new_app  # noqa: F401, fixtures
from tests.support.client import Client
from tests.support.mirror import catch_up, differences, follower, move_stamps


@pytest.mark.parametrize('is_at_first', [True, False])
def test_slow_clock(ironic, new_app, is_at_first):  # noqa: F811
    """A change whose stamp is a minute late is noticed: just after all nodes were read, and later."""
    client, uuids = Client(new_app), ironic.nodes(12)
    for uuid in uuids:
        ironic.patch(f'/v1/nodes/{uuid}', description='first')
    # Some nodes have not changed for an hour.
    move_stamps(ironic.directory, 3600, *uuids[:6])
    ironic.patch(f'/v1/nodes/{uuids[6]}', description='second')
    mirror = follower(new_app, overlap_seconds=70)
    catch_up(mirror)
    if not is_at_first:
        ironic.patch(f'/v1/nodes/{uuids[7]}', description='second')
        catch_up(mirror)
    for uuid in (uuids[0], uuids[8]):
        ironic.patch(f'/v1/nodes/{uuid}', description='third')
        move_stamps(ironic.directory, 60, uuid)
    catch_up(mirror)
    assert list(differences(client, ironic, 'far')) == []


class _ManyPages(Cloud):
    """A cloud with two uuids in a page. After each page, a node changes there."""

    def __init__(self, change):
        super().__init__('far', 60)
        self._change = change

    def get(self, path, **query):
        if query.get('fields') != 'uuid':
            return super().get(path, **query)
        document = super().get(path, **{**query, 'limit': 2})
        self._change()
        return document


def test_changes_during_a_comparison(ironic, new_app):  # noqa: F811
    """The mirror follows changes while it reads the uuids of all nodes: with many nodes, that takes long."""
    client, uuids, seen = Client(new_app), ironic.nodes(12), []

    def change():
        seen.append(client.get(f'/v1/nodes/{uuids[0]}')['description'])
        ironic.patch(f'/v1/nodes/{uuids[0]}', description=str(len(seen)))
        time.sleep(0.1)

    for uuid in uuids:
        ironic.patch(f'/v1/nodes/{uuid}', description='first')
    catch_up(follower(new_app))
    new_app.service.conf.set_override('interval', 0.1, group='mirror')
    mirror = Follower(new_app.service, 'far', _ManyPages(change))
    for _ in range(50):
        if not seen:
            mirror.work()
    assert seen[:6] == ['first', '1', '2', '3', '4', '5']
