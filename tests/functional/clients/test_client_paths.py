"""In the paths of the Python library, a name or uuid is one segment, or is refused."""

import pytest
from keystoneauth1 import noauth, session

from ironic_traits.client import Client, Failed
from ironic_traits.client.client import segment
from tests.support.cli import run

#: Names that would be no segment, or several.
IMPOSSIBLE = ('', '.', '..', '/', 'CUSTOM_A/veto', '../two/traits')
#: Names of neither traits nor nodes. The path must keep the part after "#" or "?".
STRANGE = (
    'CUSTOM_A#x',
    'CUSTOM_A?x',
    'CUSTOM_A?source=hook',
    'CUSTOM_A%2Fveto',
    'CUSTOM_A x',
    'CUSTOM_Ä',
    'CUSTOM_A;x',
)
#: Functions that take a client and a name, and send a request with the name in its path.
CALLS = {
    'reservation': lambda client, name: client.reservation(name),
    'renew': lambda client, name: client.renew(name),
    'release': lambda client, name: client.release(name),
    'capacity_reservation': lambda client, name: client.capacity_reservation(name),
    'release_capacity': lambda client, name: client.release_capacity(name),
    'traits': lambda client, name: client.traits(name),
    'trait_details': lambda client, name: client.trait_details(name),
    'set_traits': lambda client, name: client.set_traits(name, []),
    'add_trait to a node': lambda client, name: client.add_trait(name, 'CUSTOM_A'),
    'add_trait': lambda client, name: client.add_trait('one', name),
    'remove_trait of a node': lambda client, name: client.remove_trait(name, 'CUSTOM_A'),
    'remove_trait': lambda client, name: client.remove_trait('one', name),
    'remove_traits': lambda client, name: client.remove_traits(name),
    'lift_veto of a node': lambda client, name: client.lift_veto(name, 'CUSTOM_A'),
    'lift_veto': lambda client, name: client.lift_veto('one', name),
    'mirror': lambda client, name: client.mirror(name),
    'inventory': lambda client, name: client.inventory(name),
    'set_inventory': lambda client, name: client.set_inventory(name, {'inventory': {}}),
    'trait': lambda client, name: client.trait(name),
    'update_trait': lambda client, name: client.update_trait(name, retired=True),
    'deploy': lambda client, name: client.deploy(name),
}


@pytest.fixture
def client(server):
    return Client(session.Session(noauth.NoAuth()), endpoint_override=server.base)


def inventory(client):
    """Return the data that the calls could change: the nodes with their traits, and the catalogue."""
    nodes = client.nodes(fields='uuid,name,traits,target_provision_state')
    return list(nodes), list(client.catalogue(custom=True))


@pytest.mark.parametrize('call', CALLS.values(), ids=CALLS.keys())
def test_each_call(client, call):
    before = inventory(client)
    for name in IMPOSSIBLE:
        with pytest.raises(ValueError, match='name or UUID'):
            call(client, name)
    for name in STRANGE:
        with pytest.raises(Failed) as failed:
            call(client, name)
        assert failed.value.status in (400, 404)
    for suffix in ('#x', '?x', '?detail=true', '%2Ftraits'):
        with pytest.raises(Failed):
            call(client, f'one{suffix}')
    assert inventory(client) == before


def test_segments():
    assert segment('rack-1.node_2~a') == 'rack-1.node_2~a'
    assert segment('a b?c#d%e') == 'a%20b%3Fc%23d%25e'


def test_commands(server, client):
    """The commands use the same paths. After a refused name, a command handles its other names."""
    before, trait = inventory(client), ('baremetal', 'node', 'trait')
    errors = run(server, *trait, 'unset', 'one', '..', 'CUSTOM_A#x', code=1)
    assert "..: '..' cannot be a name or UUID in a path." in errors
    assert 'CUSTOM_A#x: Node ' in errors
    assert "'..' cannot be a name or UUID" in run(server, *trait, 'set', '..', 'CUSTOM_A', code=1)
    errors = run(server, 'baremetal', 'reservation', 'delete', '..', 'x', code=1)
    assert "Failed to delete reservation ..: '..' cannot be" in errors
    assert 'Failed to delete reservation x: ' in errors
    errors = run(server, 'openstack', 'trait', 'remove', '../x', 'CUSTOM_A', path='/placement', code=1)
    assert "'../x' cannot be a name or UUID" in errors
    assert inventory(client) == before
