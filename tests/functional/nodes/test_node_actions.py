"""Actions on many nodes, on each database."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import states
from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.inventory.provisioning import node_actions, node_states
from tests.support.client import Client, message
from tests.support.personas import NODE, RESERVED
from tests.support.service import finish_work, make_app

PATH = '/v1/nodes/actions'
#: {action: (state in which it is possible, the next state)}.
STATES = {
    'manage': ('enroll', 'verifying'),
    'provide': ('manageable', 'cleaning'),
    'inspect': ('manageable', 'inspecting'),
    'adopt': ('manageable', 'adopting'),
    'abort': ('clean wait', 'clean failed'),
    'unhold': ('clean hold', 'clean wait'),
}


def _ask(client, action, version='1.115', **body):
    return client.ask('POST', PATH, {'action': action, **body}, version=version)


def _preview(client, action, **body):
    response = _ask(client, action, **body, preview=True)
    assert response.status_int == 200, response.text
    return response.json


def _run(client, action, **body):
    response = _ask(client, action, **body, digest=_preview(client, action, **body)['digest'])
    assert response.status_int == 200, response.text
    return response.json


def _outcomes(report):
    assert report['matched'] == len(report['nodes']) == sum(report[name] for name in node_actions.OUTCOMES)
    return {node['name']: node['outcome'] for node in report['nodes']}


def _errors(report):
    return {node['name']: node['code'] for node in report['nodes'] if node['outcome'] == 'refused'}


def _set(app, name, **values):
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.name == name).values(values))


def _make(app, client, **nodes):
    """Create nodes in states, {name: state}."""
    for name, state in nodes.items():
        node_states.place(app.service, client.node(name=name)['uuid'], state)


def _field(client, name, field):
    return client.get(f'/v1/nodes/{name}?fields={field}')[field]


def test_each_verb_is_tested():
    assert set(STATES) == set(node_actions.VERBS)
    assert set(STATES) < set(states.VERBS)


@pytest.mark.parametrize('action', STATES)
def test_verbs(app, client, action):
    """A verb starts the transition as the request for a single node does. Other states refuse it with its failure."""
    before, after = STATES[action]
    for name in ('one', 'two', 'other'):
        client.node(name=name)
        _set(app, name, provision_state='active' if name == 'other' else before, target_provision_state='available')
    expected = {'one': 'done', 'two': 'done', 'other': 'refused'}
    shown = _preview(client, action, where={})
    assert _outcomes(shown) == expected
    assert _field(client, 'one', 'provision_state') == before
    done = _ask(client, action, where={}, digest=shown['digest']).json
    assert done == {name: value for name, value in shown.items() if name != 'digest'}
    assert [_field(client, name, 'provision_state') for name in expected] == [after, after, 'active']
    single = client.ask('PUT', '/v1/nodes/other/states/provision', {'target': action}, version='1.115')
    assert done['nodes'][2] == {
        'uuid': client.get('/v1/nodes/other')['uuid'],
        'name': 'other',
        'outcome': 'refused',
        'status': single.status_int,
        'code': single.json['code'],
        'error': message(single),
    }
    history = client.get('/v1/nodes/two/history?detail=true')['history']
    text = f'"{before}" was aborted' if action == 'abort' else f'Requested: {action}. The provision state changed from'
    assert text in history[-1]['event']


def test_workers_do_the_work(app, client):
    _make(app, client, one='manageable', two='manageable')
    assert _run(client, 'provide', where={})['done'] == 2
    finish_work(app)
    assert [_field(client, name, 'provision_state') for name in ('one', 'two')] == ['available', 'available']


def test_maintenance(client):
    for name in ('one', 'two', 'three'):
        client.node(name=name)
    client.ask('PUT', '/v1/nodes/one/maintenance', {'reason': 'fan'})
    client.ask('PUT', '/v1/nodes/two/maintenance', {'reason': 'disk'})
    before = client.get('/v1/nodes/one')['updated_at']
    report = _run(client, 'maintenance', reason='fan', where={})
    assert _outcomes(report) == {'one': 'unchanged', 'two': 'done', 'three': 'done'}
    assert {_field(client, name, 'maintenance_reason') for name in ('one', 'two', 'three')} == {'fan'}
    assert client.get('/v1/nodes/one')['updated_at'] == before
    assert client.get('/v1/nodes/three/history?detail=true')['history'][-1]['event'] == 'Maintenance was set: fan'
    # Without a reason, they keep theirs.
    assert _outcomes(_run(client, 'maintenance', nodes=['two', 'three'])) == {'two': 'unchanged', 'three': 'unchanged'}
    assert {_field(client, name, 'maintenance_reason') for name in ('two', 'three')} == {'fan'}
    assert _outcomes(_run(client, 'unset_maintenance', nodes=['two', 'three'])) == {'two': 'done', 'three': 'done'}
    assert _outcomes(_run(client, 'unset_maintenance', where={})) == {
        'one': 'done',
        'two': 'unchanged',
        'three': 'unchanged',
    }
    assert client.get('/v1/nodes?maintenance=true')['nodes'] == []


def test_the_digest(app, client):
    """The digest is that of the action, of the nodes and of their states, but not of locks or other fields."""
    _make(app, client, one='manageable', two='manageable')
    digest = _preview(client, 'provide', where={})['digest']
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A')
    _set(app, 'two', reservation='host')
    assert _preview(client, 'provide', where={})['digest'] == digest
    assert _preview(client, 'inspect', where={})['digest'] != digest
    changes = (
        lambda: client.ask('PUT', '/v1/nodes/one/maintenance', {'reason': 'fan'}),
        lambda: client.ask('PUT', '/v1/nodes/one/maintenance', {'reason': 'disk'}),
        lambda: _set(app, 'one', provision_state='enroll'),
        lambda: client.node(name='three'),
        lambda: client.ask('DELETE', '/v1/nodes/one'),
    )
    for change in changes:
        change()
        response = _ask(client, 'provide', where={}, digest=digest)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.node.action_outdated')
        assert response.json['digest'] != digest
        digest = response.json['digest']
        assert _preview(client, 'provide', where={})['digest'] == digest
    assert _field(client, 'two', 'provision_state') == 'manageable'
    reasons = [_preview(client, 'maintenance', where={}, reason=reason)['digest'] for reason in ('fan', 'disk')]
    assert len({*reasons, digest}) == 3


def test_mixed_outcomes(app, client):
    """A node that refuses the action does not stop the others, and a locked one is not waited for."""
    _make(app, client, one='manageable', locked='manageable', retired='manageable', early='enroll', last='manageable')
    client.ask('PATCH', '/v1/nodes/retired', [{'op': 'add', 'path': '/retired', 'value': True}])
    _set(app, 'locked', reservation='host')
    _make(app, client, mirrored='manageable')
    mirror_clouds.take(app.service, mirror_clouds.Turn('berlin', 'a', 60), 'mirror1')
    _set(app, 'mirrored', origin='berlin')
    report = _run(client, 'provide', where={})
    assert _errors(report) == {
        'locked': 'baremetal.node.locked',
        'retired': 'baremetal.node.retired',
        'early': 'baremetal.node.invalid_transition',
        'mirrored': 'baremetal.node.mirrored',
    }
    assert (report['done'], report['unchanged'], report['refused']) == (2, 0, 4)
    assert _field(client, 'last', 'provision_state') == 'cleaning'
    assert _field(client, 'locked', 'provision_state') == 'manageable'
    # As for a single node, a lock does not matter for maintenance, and a mirrored node refuses it.
    report = _run(client, 'maintenance', where={})
    assert _errors(report) == {'mirrored': 'baremetal.node.mirrored'}
    assert _outcomes(report)['locked'] == 'done'


@pytest.mark.parametrize('action', ['maintenance', 'manage'])
def test_a_node_that_changes_meanwhile(app, client, monkeypatch, action):
    """A node that is deleted or changed after the digest was checked is refused, and the rest goes on."""
    _make(app, client, one='enroll', two='enroll', three='enroll', four='enroll')
    real, begun = node_actions._carry_out, []

    def carry_out(context, action, expected):
        if not begun:
            begun.append(client.ask('DELETE', '/v1/nodes/two').status_int)
            client.ask('PUT', '/v1/nodes/three/states/provision', {'target': 'manage'})
            _set(app, 'three', reservation=None)
            client.ask('PUT', '/v1/nodes/four/maintenance', {'reason': 'fire: do not touch'})
        return real(context, action, expected)

    monkeypatch.setattr(node_actions, '_carry_out', carry_out)
    reason = {'reason': 'rack moves'} if action == 'maintenance' else {}
    report = _run(client, action, where={}, **reason)
    assert begun == [204]
    changed = 'three' if action == 'manage' else 'four'
    assert _errors(report) == {'two': 'baremetal.node.not_found', changed: 'baremetal.node.changed'}
    assert _field(client, 'four', 'maintenance_reason') == 'fire: do not touch'
    assert _outcomes(report)['one'] == 'done'


def test_an_interrupted_request_leaves_nodes_done_or_untouched(app, client, monkeypatch):
    _make(app, client, one='manageable', two='manageable', three='manageable')
    real, calls = node_states.provision, []

    def provision(context, uuid, *arguments):
        calls.append(uuid)
        if len(calls) == 2:
            raise RuntimeError('killed')
        return real(context, uuid, *arguments)

    monkeypatch.setattr(node_states, 'provision', provision)
    digest = _preview(client, 'provide', where={})['digest']
    assert _ask(client, 'provide', where={}, digest=digest).status_int == 500
    assert [_field(client, name, 'provision_state') for name in ('one', 'two', 'three')] == [
        'cleaning',
        'manageable',
        'manageable',
    ]
    monkeypatch.undo()
    assert _outcomes(_run(client, 'provide', where={})) == {'one': 'refused', 'two': 'done', 'three': 'done'}


def test_too_many_nodes(database_url):
    with make_app(database_url, api__max_limit=2) as app:
        client = Client(app)
        for name in ('one', 'two', 'three'):
            client.node(name=name)
        response = _ask(client, 'manage', where={}, preview=True)
        assert response.status_int == 400
        assert message(response) == 'The request selects 3 nodes, and at most 2 ([api] max_limit) are allowed.'
        assert _run(client, 'manage', nodes=['one', 'two', 'one'])['done'] == 2


@pytest.mark.parametrize(
    ('body', 'reason'),
    [
        ({'where': {}, 'preview': True}, 'action'),
        ({'action': None, 'where': {}, 'preview': True}, 'action'),
        ({'action': 'active', 'where': {}, 'preview': True}, 'action'),
        ({'action': ['manage'], 'where': {}, 'preview': True}, 'action'),
        ({'action': 'manage', 'preview': True}, "either 'where'"),
        ({'action': 'manage', 'where': {}, 'nodes': ['one'], 'preview': True}, "either 'where'"),
        ({'action': 'manage', 'nodes': [], 'preview': True}, 'at least one node'),
        ({'action': 'manage', 'where': {'colour': 'red'}, 'preview': True}, 'colour'),
        ({'action': 'manage', 'where': {}}, "either 'preview'"),
        ({'action': 'manage', 'where': {}, 'preview': False}, "either 'preview'"),
        ({'action': 'manage', 'where': {}, 'preview': True, 'digest': 64 * 'a'}, "either 'preview'"),
        ({'action': 'manage', 'where': {}, 'digest': 'a'}, 'not the digest'),
        ({'action': 'manage', 'where': {}, 'preview': True, 'reason': 'fan'}, "'reason'"),
        ({'action': 'unset_maintenance', 'where': {}, 'preview': True, 'reason': 'fan'}, "'reason'"),
        ({'action': 'maintenance', 'where': {}, 'preview': True, 'reason': 7}, 'reason'),
        ({'action': 'manage', 'where': {}, 'preview': True, 'limit': 1}, 'limit'),
    ],
)
def test_bad_input(client, body, reason):
    client.node(name='one')
    response = client.ask('POST', PATH, body)
    assert response.status_int == 400
    assert reason in message(response)


def test_unknown_nodes(client):
    client.node(name='one')
    response = _ask(client, 'manage', nodes=['one', 'two'], preview=True)
    assert (response.status_int, response.json['code']) == (404, 'baremetal.node.not_found')


def test_versions(client):
    client.node(name='one')
    for action, version, status in (
        ('manage', '1.37', 405),
        ('manage', '1.38', 200),
        ('unhold', '1.84', 406),
        ('unhold', '1.85', 200),
        ('abort', '1.109', 406),
        ('abort', '1.110', 200),
    ):
        response = _ask(client, action, version, where={}, preview=True)
        assert response.status_int == status, (action, version, response.text)


def test_a_node_may_have_the_name_of_the_path(client):
    uuid = client.node(name='actions')['uuid']
    assert client.get('/v1/nodes/actions')['uuid'] == uuid
    assert client.get('/v1/nodes/actions/traits')['traits'] == []
    assert client.ask('POST', '/v1/nodes/actions/vifs', {'id': uuid}).status_int == 204
    assert _run(client, 'maintenance', nodes=['actions'])['done'] == 1
    assert client.ask('DELETE', '/v1/nodes/actions').status_int == 204


#: {persona: (status of the preview, outcome of the nodes)} for nodes of alpha, leased to beta.
PERSONAS = {
    **dict.fromkeys(('system_admin', 'system_member', 'owner_admin', 'owner_manager', 'owner_member'), (200, 'done')),
    **dict.fromkeys(('lessee_admin', 'service'), (200, 'done')),
    'lessee_member': (200, 'refused'),
    **dict.fromkeys(('system_reader', 'owner_reader', 'lessee_reader', 'nobody', 'domain_admin'), (403, None)),
    **dict.fromkeys(('stranger_admin', 'stranger_manager', 'stranger_member'), (404, None)),
    'stranger_reader': (403, None),
}


@pytest.mark.parametrize('action', ['maintenance', 'manage'])
@pytest.mark.parametrize('persona', PERSONAS)
def test_personas(ask, persona, action):
    """Each node has the outcome that the request for this node has."""
    status, outcome = PERSONAS[persona]
    body = {'action': action, 'nodes': [NODE, RESERVED]}
    shown = ask(persona, f'POST {PATH}', body | {'preview': True})
    assert shown.status_int == status
    if status != 200:
        assert ask(persona, f'POST {PATH}', body | {'digest': 64 * '0'}).status_int == status
        return
    nodes = ask(persona, f'POST {PATH}', body | {'digest': shown.json['digest']}).json['nodes']
    assert [node['outcome'] for node in nodes] == [outcome, outcome]
    if outcome == 'refused':
        path = {'maintenance': 'maintenance', 'manage': 'states/provision'}[action]
        single = ask(
            persona, f'PUT /v1/nodes/{{node_ident}}/{path}', {} if path == 'maintenance' else {'target': action}
        )
        assert (
            (nodes[0]['status'], nodes[0]['error']) == (single.status_int, message(single)) == (403, nodes[1]['error'])
        )


def test_nodes_of_others_do_not_exist(ask):
    body = {'action': 'maintenance', 'where': {}, 'preview': True}
    assert ask('stranger_admin', f'POST {PATH}', body).json['matched'] == 0
    assert ask('owner_member', f'POST {PATH}', body).json['matched'] == 2
