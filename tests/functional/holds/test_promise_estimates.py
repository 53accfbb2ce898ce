"""Claims beside capacity reservations after changes since the last reading. One statement estimates what is left."""

import pytest
import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.inventory.holds import promise_claims, promise_estimates, promised_nodes
from tests.support.promises import CAPACITY, add_trait, claim, promise, take
from tests.support.providers import golden
from tests.support.reservations import PATH, available_of, expire, instance, reserve
from tests.support.rows import set_exclusive


@pytest.fixture
def reads(monkeypatch):
    """A list with an element for each reading of the promises and the nodes."""
    found = []

    def read(*arguments, original=promised_nodes._reading):
        found.append(1)
        return original(*arguments)

    monkeypatch.setattr(promised_nodes, '_reading', read)
    return found


def special(client):
    """Create a golden node with a trait, and return its uuid."""
    node = golden(client)
    add_trait(client, node, 'CUSTOM_X')
    return node


def read(app, client):
    """Read the promises and the nodes, so that no node has changed since."""
    change_feed.now(app.service)
    return client.get(CAPACITY)['capacity_reservations'][0]


def remove_trait(client, node):
    """Remove the trait of a node."""
    assert client.ask('DELETE', f'/v1/nodes/{node}/traits/CUSTOM_X').status_int == 204


def begin_maintenance(client, node):
    """Set a node into maintenance."""
    assert client.ask('PUT', f'/v1/nodes/{node}/maintenance', {}).status_int == 202


def delete(client, node):
    """Delete a node."""
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204


def test_claims_without_another_reading(client, reads):
    """Claims of others read nothing again while there are enough free nodes, and the last one is refused."""
    nodes = [golden(client) for _ in range(60)]
    promise(client, 'a', 5)
    del reads[:]
    for number, node in enumerate(nodes[:-10:-1]):
        assert claim(client, number, node, 'x').status_int == 204
    for number in range(10, 24):
        assert take(client, number).status_int == 201
    assert not reads
    for number in range(24, 56):
        assert take(client, number).status_int == 201
    assert take(client, 56).status_int == 409
    assert claim(client, 57, nodes[50], 'x').status_int == 409


@pytest.mark.parametrize('change', [remove_trait, begin_maintenance, delete])
def test_a_free_node_changes(app, client, change):
    """A node that has changed since the last reading does not count."""
    nodes = [special(client) for _ in range(3)]
    promise(client, 'a', 1, required=['CUSTOM_X'])
    read(app, client)
    for node in nodes[:2]:
        change(client, node)
    assert claim(client, 1, nodes[2], 'x').status_int == 409
    assert take(client, 2, required=['CUSTOM_X']).status_int == 409


@pytest.mark.parametrize('change', [remove_trait, begin_maintenance])
def test_a_held_node_changes_before_its_reservation_expires(app, client, change):
    """It is not free for the promise again, so the promise needs another one."""
    held = special(client)
    promise(client, 'a', 1, required=['CUSTOM_X'])
    assert take(client, 1, capacity_reservation='a', expires_in=1000).json['reservation']['node_uuid'] == held
    change(client, held)
    other = special(client)
    assert read(app, client)['left'] == 0
    expire(app)
    assert claim(client, 2, other, 'x').status_int == 409


def test_a_held_node_is_given_back(app, client):
    """Also if it does not match any more."""
    held, _, other = special(client), golden(client), special(client)
    promise(client, 'a', 1, required=['CUSTOM_X'])
    assert claim(client, 1, held, 'project-a').status_int == 204
    assert read(app, client)['left'] == 0
    assert client.placement('DELETE', '/allocations/bbbbbbbb-0000-4000-8000-000000000001').status_int == 204
    remove_trait(client, held)
    assert claim(client, 2, other, 'x').status_int == 409


def test_a_promise_asks_again(app, client):
    """It overlaps with another one, which did not compete with it at the reading."""
    node, *_ = special(client), special(client), golden(client)
    promise(client, 'x', 1, required=['CUSTOM_X'])
    promise(client, 'a', 1)
    assert claim(client, 1, node, 'project-x').status_int == 204
    read(app, client)
    begin_maintenance(client, node)
    assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    assert take(client, 2, forbidden=['CUSTOM_X']).status_int == 409


def test_a_trait_becomes_exclusive(app, client):
    """The nodes with it do not match any more. No node has changed."""
    nodes = [special(client), golden(client)]
    promise(client, 'a', 1)
    read(app, client)
    set_exclusive(app.service, ['CUSTOM_X'])
    assert claim(client, 1, nodes[1], 'x').status_int == 409
    assert claim(client, 2, nodes[0], 'x').status_int == 204


def test_an_unknown_node_needs_all_promises_kept(app, client):
    """A node that has changed since the last reading may match each promise."""
    kept, changed = special(client), golden(client)
    promise(client, 'a', 1, required=['CUSTOM_X'])
    read(app, client)
    begin_maintenance(client, kept)
    add_trait(client, changed, 'CUSTOM_X')
    assert take(client, 1).status_int == 409
    assert claim(client, 2, changed, 'x').status_int == 409


def test_a_project_takes_no_more_than_it_has_a_right_to(app, client):
    """An estimate does not know how many nodes it has taken since the last reading."""
    for _ in range(4):
        golden(client)
    promise(client, 'a', 1)
    promise(client, 'b', 3)
    read(app, client)
    nodes = [each['uuid'] for each in client.get('/v1/nodes')['nodes']]
    assert [claim(client, number, nodes[number], 'project-a').status_int for number in (1, 2)] == [204, 409]


def test_a_node_that_the_last_promises_need(app, client):
    """There are as many free nodes as two promises that overlap ask for, but the second one needs a certain node."""
    plain, one = golden(client), special(client)
    golden(client)
    promise(client, 'a', 1)
    promise(client, 'b', 1, required=['CUSTOM_X'])
    read(app, client)
    assert claim(client, 1, one, 'x').status_int == 409
    assert take(client, 2, required=['CUSTOM_X']).status_int == 409
    assert claim(client, 3, plain, 'x').status_int == 204
    assert take(client, 4).status_int == 409


def others_take(monkeypatch, number):
    """Let another process take so many nodes of promise a before the next claim locks the promises."""

    def confirm(claim_, connection, original=promise_claims.Claim.confirm):
        monkeypatch.setattr(promise_claims.Claim, 'confirm', original)
        # Its transaction has raised the generation.
        claim_.promised.by_id = {
            ident: each._replace(generation=each.generation - number * (each.name == 'a'))
            for ident, each in claim_.promised.by_id.items()
        }
        original(claim_, connection)

    monkeypatch.setattr(promise_claims.Claim, 'confirm', confirm)


@pytest.mark.parametrize(('number', 'promised', 'project'), [(3, 1, 'x'), (12, 5, 'project-a')], ids=['others', 'own'])
def test_other_claims_before_the_lock(app, client, monkeypatch, reads, number, promised, project):
    """Another process takes nodes between the estimate, or the reading, and the lock of the promises.

    For another project, too few are left, so the promises are read. The promise's own project needs a reading from the
    beginning. There are enough nodes, so it is not read again.
    """
    nodes = [golden(client) for _ in range(number)]
    promise(client, 'a', promised)
    read(app, client)
    del reads[:]
    others_take(monkeypatch, 2)
    assert claim(client, 1, nodes[0], project).status_int == 204
    assert len(reads) == 1


def test_other_claims_of_one_of_two_promises(app, client, monkeypatch, reads):
    """A request takes nodes of two promises. Another process takes nodes of one of them meanwhile."""
    special_ones, tin = [special(client) for _ in range(4)], [available_of(client, 'tin') for _ in range(4)]
    promise(client, 'a', 1, required=['CUSTOM_X'])
    promise(client, 'b', 1, resource_class='tin')
    read(app, client)
    del reads[:]
    others_take(monkeypatch, 3)
    body = {'instance_uuids': [instance(1), instance(2)], 'node_uuid': [special_ones[0], tin[0]]}
    assert client.ask('POST', PATH, body).status_int == 201
    assert len(reads) == 1


def test_a_node_that_is_new_since_the_reading(app, client, reads):
    """The estimate does not have it, but is still one."""
    nodes = [golden(client) for _ in range(4)]
    promise(client, 'a', 1)
    read(app, client)
    del reads[:]
    new = golden(client)
    assert [claim(client, number, node, 'x').status_int for number, node in enumerate([nodes[0], new])] == [204, 204]
    assert not reads


def test_too_many_changes(app, client, monkeypatch):
    """After many changes, there is no estimate until the nodes are read again."""
    nodes = [golden(client) for _ in range(12)]
    promise(client, 'a', 1)
    monkeypatch.setattr(promise_estimates, '_MANY', 10)
    for node in nodes[1:]:
        add_trait(client, node, 'CUSTOM_X')
    with app.service.read() as connection:
        assert promise_estimates.estimate(app.service, connection) is None
        read(app, client)
        assert promise_estimates.estimate(app.service, connection).is_exact is False


@pytest.mark.parametrize(
    'values',
    [
        {'feed': '00000000-0000-4000-8000-000000000000'},
        {'forgotten': tables.change_numbers.c.last + 1},
        {'last': tables.change_numbers.c.last - 1},
    ],
)
def test_the_change_feed_does_not_go_back_to_the_reading(app, client, values):
    """It was reset, it has forgotten changes, or the database was restored. Then there is no estimate."""
    golden(client)
    promise(client, 'a', 1)
    read(app, client)
    # What it has forgotten at most without harm comes first.
    for each, is_there in (({'forgotten': tables.change_numbers.c.last}, True), (values, False)):
        with app.service.write() as connection:
            connection.execute(sa.update(tables.change_numbers).values(each))
        with app.service.read() as connection:
            assert (promise_estimates.estimate(app.service, connection) is not None) is is_there


def test_a_claim_that_names_it_beside_held_nodes(client, reads):
    """It looks at free nodes that match only, so one reading is enough."""
    held, node = golden(client), golden(client)
    assert reserve(client, 1, [held]).status_int == 201
    promise(client, 'a', 1)
    del reads[:]
    assert take(client, 2, capacity_reservation='a').json['reservation']['node_uuid'] == node
    assert len(reads) == 1


def test_a_node_changes_after_the_reading(client, monkeypatch):
    """A claim that names a promise does not take a node that does not match it any more."""
    nodes = [special(client) for _ in range(2)]
    promise(client, 'a', 1, required=['CUSTOM_X'])

    def read_first(*arguments, original=promised_nodes.read):
        monkeypatch.setattr(promised_nodes, 'read', original)
        found = original(*arguments)
        remove_trait(client, nodes[0])
        return found

    monkeypatch.setattr(promised_nodes, 'read', read_first)
    assert take(client, 1, capacity_reservation='a').json['reservation']['node_uuid'] == nodes[1]
