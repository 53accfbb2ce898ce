"""Mirrors of an Ironic whose hosts have different clocks."""

import pytest

from tests.functional.test_mirror import ironic, new_app  # noqa: F401, fixtures
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
