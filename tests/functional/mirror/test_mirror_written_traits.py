"""Pending writes to the nodes of a cloud, and the records of the written traits, on each database."""

import pytest

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_trait_writes, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirror_trait_writes import Outcome
from ironic_traits.matching.written_traits import REMOVING, WRITING
from ironic_traits.mirror import documents

UUID = 'aaaaaaaa-0000-4000-8000-000000000001'


class Writes:
    """The writer of traits of the cloud "far". Its requests are not sent."""

    def __init__(self, service):
        self.context = Context(service, None, 0, '')
        self.turn = Turn('far', 'lease', 60)
        service.conf.set_override('overlap_seconds', 0, group='mirror')
        mirror_clouds.take(service, self.turn, 'test')

    def read(self, *traits):
        """Store the node with its traits in the cloud."""
        document = {
            'uuid': UUID,
            'name': 'a',
            'created_at': '2026-01-01T00:00:00+00:00',
            'driver': 'ipmi',
            'provision_state': 'available',
            'traits': list(traits),
        }
        mirrored_nodes.store(self.context, self.turn, [documents.node(document)])

    def pending(self, **options):
        """Return (traits to add, to remove, to be removed later, records to forget)."""
        node = mirror_trait_writes.pending(self.context, 'far', **options).get(UUID)
        return (node.add, node.remove, node.wait, node.forget) if node else None

    def begin(self, *tried):
        """Begin the next request, and return (state, trait); None if there is none."""
        self.operation = mirror_trait_writes.begin(self.context, self.turn, UUID, 60, tried)
        return self.operation and (self.operation.state, self.operation.trait)

    def end(self, *outcome, error=None):
        """End this request."""
        mirror_trait_writes.end(self.context, self.turn, self.operation, Outcome(*outcome), error)


@pytest.fixture
def writes(app):
    """A Writes with one node."""
    result = Writes(app.service)
    result.read('CUSTOM_THEIRS')
    return result


def edit(client, method, name, query=''):
    """Add or remove a trait in this service."""
    assert client.ask(method, f'/v1/nodes/{UUID}/traits/{name}{query}').status_int == 204


def test_pending(writes, client):
    assert writes.pending() is None
    edit(client, 'PUT', 'CUSTOM_THEIRS')
    edit(client, 'PUT', 'CUSTOM_A', '?source=rule')
    edit(client, 'PUT', 'CUSTOM_B')
    assert writes.pending() == writes.pending(uuids=[UUID]) == (['CUSTOM_A', 'CUSTOM_B'], [], [], [])
    assert writes.pending(uuids=[]) is None
    assert writes.begin() == (WRITING, 'CUSTOM_A')
    writes.end(True)
    assert writes.begin((WRITING, 'CUSTOM_B')) is None
    assert writes.begin() == (WRITING, 'CUSTOM_B')
    writes.end(True)
    assert writes.pending() is None
    # The mirror does not hold written traits, so they are removed when no source here holds them.
    writes.read('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_THEIRS')
    edit(client, 'DELETE', 'CUSTOM_A', '?source=rule')
    assert writes.pending() == ([], ['CUSTOM_A'], [], [])
    assert writes.begin() == (REMOVING, 'CUSTOM_A')
    writes.end(True)
    assert writes.pending() is None
    assert client.get(f'/v1/nodes/{UUID}/traits')['traits'] == ['CUSTOM_B', 'CUSTOM_THEIRS']


def test_unknown_end(writes, client):
    """The trait of a write with an unknown outcome is removed only when the request has certainly ended."""
    edit(client, 'PUT', 'CUSTOM_A')
    writes.begin()
    assert writes.pending(seconds=60) == (['CUSTOM_A'], [], [], [])
    assert client.get('/v1/mirrors/far')['undecided_writes'] == 1
    edit(client, 'DELETE', 'CUSTOM_A')
    assert writes.pending(seconds=60) == ([], [], ['CUSTOM_A'], [])
    assert writes.pending() == ([], ['CUSTOM_A'], [], [])
    assert writes.begin() is None
    edit(client, 'PUT', 'CUSTOM_A')
    writes.read('CUSTOM_A', 'CUSTOM_THEIRS')
    assert writes.pending(seconds=60) is None
    assert client.get('/v1/mirrors/far')['written_traits'] == 1


def test_refusal(writes, client):
    edit(client, 'PUT', 'CUSTOM_A')
    writes.begin()
    writes.end(False, True, 'No.', error='Not at all.')
    shown = client.get('/v1/mirrors/far')
    (conflict,) = shown['conflict_list']
    assert (conflict['uuid'], conflict['trait'], conflict['reason']) == (UUID, 'CUSTOM_A', 'No.')
    assert (shown['conflicts'], shown['write_error'], bool(shown['write_failing_since'])) == (1, 'Not at all.', True)
    mirror_trait_writes.save_queue(writes.context, writes.turn, 0)
    assert client.get('/v1/mirrors/far')['write_error'] is None
    assert writes.pending() == (['CUSTOM_A'], [], [], [])
    edit(client, 'DELETE', 'CUSTOM_A')
    assert writes.pending() == ([], [], [], ['CUSTOM_A'])
    assert writes.begin() is None
    assert (writes.pending(), client.get('/v1/mirrors/far')['conflicts']) == (None, 0)


def test_refusal_of_a_trait_that_may_be_there(writes, client):
    """A trait that was written stays this service's own when a later request for it is refused."""
    edit(client, 'PUT', 'CUSTOM_A')
    writes.begin()
    writes.end(True)
    edit(client, 'DELETE', 'CUSTOM_A')
    assert writes.begin() == (REMOVING, 'CUSTOM_A')
    writes.end(False, True, 'No.')
    edit(client, 'PUT', 'CUSTOM_A')
    assert writes.begin() == (WRITING, 'CUSTOM_A')
    writes.end(False, True, 'Still no.')
    writes.read('CUSTOM_A', 'CUSTOM_THEIRS')
    edit(client, 'DELETE', 'CUSTOM_A')
    assert writes.pending() == ([], ['CUSTOM_A'], [], [])


def test_removal_there(writes, client):
    edit(client, 'PUT', 'CUSTOM_A')
    writes.begin()
    writes.end(True)
    writes.read('CUSTOM_THEIRS')
    assert writes.pending() is None
    assert client.get('/v1/mirrors/far')['conflict_list'][0]['trait'] == 'CUSTOM_A'
    # Another source here holds the trait now.
    edit(client, 'PUT', 'CUSTOM_A', '?source=rule')
    assert writes.pending() == (['CUSTOM_A'], [], [], [])
    # Another client of the cloud has added the trait again, so it is no longer recorded as written.
    writes.read('CUSTOM_A')
    assert (writes.pending(), client.get('/v1/mirrors/far')['conflicts']) == (None, 0)
    edit(client, 'DELETE', 'CUSTOM_A')
    assert writes.pending() == ([], [], [], ['CUSTOM_A'])


def test_changes(writes, client):
    """The writer compares the nodes that were changed here since it has looked."""
    before = change_feed.now(writes.context)
    assert mirror_trait_writes.changed_since(writes.context, before) == (set(), before)
    edit(client, 'PUT', 'CUSTOM_A')
    uuids, after = mirror_trait_writes.changed_since(writes.context, before)
    assert uuids == {UUID}
    assert mirror_trait_writes.changed_since(writes.context, after) == (set(), after)


def test_confirmation(writes):
    """Writes begin when an operator confirms them, after the whole cloud was read."""
    context = writes.context
    for values, reason in (({'write': 'ours'}, 'not been read completely'), ({'write': None}, 'is "nothing"')):
        mirror_clouds.save(context, writes.turn, **values)
        with pytest.raises(failures.InvalidState, match=reason):
            mirror_clouds.confirm_writes(context, 'far')
        mirror_clouds.save(context, writes.turn, passed_at=mirror_clouds.now(context))
    assert not mirror_clouds.are_writes_confirmed(context, 'far')
    mirror_clouds.save(context, writes.turn, write='ours')
    assert mirror_clouds.confirm_writes(context, 'far') == 'ours'
    assert mirror_clouds.are_writes_confirmed(context, 'far')


def test_history(writes, client):
    for traits in ({WRITING: ['CUSTOM_B', 'CUSTOM_A'], REMOVING: ['CUSTOM_C']}, {WRITING: [], REMOVING: []}):
        mirror_trait_writes.note(writes.context, writes.turn, UUID, traits)
    events = [each['event'] for each in client.get(f'/v1/nodes/{UUID}/history?detail=True')['history']]
    written = 'Traits were written to cloud far: added CUSTOM_A, CUSTOM_B; removed CUSTOM_C.'
    assert [each for each in events if 'were written' in each] == [written]
