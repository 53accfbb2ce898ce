"""The history of nodes: the events that leave entries, and the lists of entries."""

import datetime
import re
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.holds import reservations
from tests.support.client import Client, message
from tests.support.history import entries
from tests.support.inventory_files import manage
from tests.support.reservations import expire
from tests.support.service import finish_work, make_app
from tests.support.transitions import ask, pass_time

INSTANCE = 'cccccccc-0000-4000-8000-000000000001'
HOST = '127.0.0.1'


class Recorder:
    """Returns the history entries of a node since the last call."""

    def __init__(self, client, node):
        self.client, self.node, self.seen = client, node, 0

    def __call__(self):
        """Return [(type, severity, event, whether by a request), …]."""
        found = entries(self.client, self.node)
        new, self.seen = found[self.seen :], len(found)
        for entry in new:
            # A request has an id, a worker has a host.
            assert bool(entry['request_id']) != bool(entry['conductor'])
        return [(entry['event_type'], entry['severity'], entry['event'], bool(entry['request_id'])) for entry in new]


def provisioning(before, after, verb=None, more=''):
    event = f'The provision state changed from "{before}" to "{after}".{more}'
    return ('provisioning', 'INFO', f'Requested: {verb}. {event}' if verb else event, verb is not None)


def test_provision_cycle(app, client):
    node = client.node()['uuid']
    new = Recorder(client, node)
    assert new() == [('node', 'INFO', 'The node was created.', True)]
    powered = ' The power state changed to "{}".'
    for verb, target, steps in (
        ('manage', 'enroll', [('verifying', 'manageable', powered.format('power off'))]),
        ('provide', 'manageable', [('cleaning', 'available', '')]),
        ('active', 'available', [('deploying', 'active', powered.format('power on'))]),
        (
            *('deleted', 'active'),
            [('deleting', 'cleaning', powered.format('power off')), ('cleaning', 'available', '')],
        ),
    ):
        ask(client, node, verb)
        assert new() == [provisioning(target, steps[0][0], verb)]
        finish_work(app)
        assert new() == [provisioning(before, after, more=more) for before, after, more in steps]
    last = entries(client, node)[-3]
    assert (last['provision_state'], last['target_provision_state']) == ('deleting', 'available')
    assert entries(client, node)[-1]['conductor'] == HOST


def test_waits_leave_no_entries(app, client):
    """Only the start and the end of a transition leave entries, however often the driver waits."""
    node = client.node(driver_info={'fake_delays': {'inspect': 1000}})['uuid']
    ask(client, node, 'manage')
    finish_work(app)
    new = Recorder(client, node)
    new()
    ask(client, node, 'inspect')
    finish_work(app)
    assert client.get(f'/v1/nodes/{node}')['provision_state'] == 'inspect wait'
    pass_time(app, 1100)
    finish_work(app)
    assert new() == [provisioning('manageable', 'inspecting', 'inspect'), provisioning('inspecting', 'manageable')]


def test_power(app, client, available):
    node = available()
    new = Recorder(client, node)
    new()
    assert client.ask('PUT', f'/v1/nodes/{node}/states/power', {'target': 'power on'}).status_int == 202
    assert new() == [('power', 'INFO', 'Requested: power on. The target power state is "power on".', True)]
    finish_work(app)
    assert new() == [('power', 'INFO', 'The power state changed to "power on".', False)]


@pytest.mark.parametrize(
    ('action', 'error'),
    [
        ('verify', 'fake-hardware is configured to fail "verify".'),
        ('power', "Failed to change power state to 'power on' by 'power on': fake-hardware is configured to fail"),
    ],
)
def test_errors(app, client, action, error):
    node = client.node(driver_info={'fake_failures': [action]})['uuid']
    new = Recorder(client, node)
    new()
    if action == 'power':
        client.ask('PUT', f'/v1/nodes/{node}/states/power', {'target': 'power on'})
    else:
        ask(client, node, 'manage')
    finish_work(app)
    _, failed = new()
    assert failed[1:] == ('ERROR', client.get(f'/v1/nodes/{node}')['last_error'], False)
    assert failed[0] == ('power' if action == 'power' else 'provisioning')
    assert failed[2].startswith(error)


def test_failed_cleaning_leaves_one_entry(app, client):
    """A failed cleaning leaves one entry, although it also sets maintenance."""
    node = client.node(driver_info={'fake_failures': ['clean']})['uuid']
    ask(client, node, 'manage')
    finish_work(app)
    new = Recorder(client, node)
    new()
    ask(client, node, 'provide')
    finish_work(app)
    assert [entry[:2] for entry in new()] == [('provisioning', 'INFO'), ('provisioning', 'ERROR')]
    last = entries(client, node)[-1]
    assert (last['provision_state'], last['target_provision_state']) == ('clean failed', 'available')


def test_requests_that_end_work(app, client):
    """An abort and a broken lock leave entries."""
    node = client.node(driver_info={'fake_delays': {'inspect': 1000}})['uuid']
    ask(client, node, 'manage')
    finish_work(app)
    ask(client, node, 'inspect')
    finish_work(app)
    new = Recorder(client, node)
    new()
    ask(client, node, 'abort')
    event = 'Inspection was aborted by request.'
    assert new() == [('provisioning', 'ERROR', event, True)]
    ask(client, node, 'inspect')
    assert client.ask('DELETE', f'/v1/nodes/{node}/lock').status_int == 204
    assert new()[1:] == [('provisioning', 'ERROR', 'The lock of the node was broken by request.', True)]


def test_maintenance(client):
    node = client.node()['uuid']
    path, new = f'/v1/nodes/{node}/maintenance', Recorder(client, node)
    new()
    for method, body, event in (
        ('PUT', {'reason': 'disk'}, 'Maintenance was set: disk'),
        ('PUT', {'reason': 'disk'}, None),
        ('PUT', {}, 'Maintenance was set.'),
        ('DELETE', None, 'Maintenance was cleared.'),
        ('DELETE', None, None),
    ):
        assert client.ask(method, path, body).status_int == 202
        assert new() == ([('maintenance', 'INFO', event, True)] if event else [])
    for value, event in ((True, 'Maintenance was set.'), (False, 'Maintenance was cleared.'), (False, None)):
        patch = [{'op': 'replace', 'path': '/maintenance', 'value': value}]
        assert client.ask('PATCH', f'/v1/nodes/{node}', patch).status_int == 200
        assert new() == ([('maintenance', 'INFO', event, True)] if event else [])


def test_instances_and_deletion(client):
    node = client.node(name='old')['uuid']
    new = Recorder(client, node)
    new()
    changes = [{'op': 'replace', 'path': f'/{name}', 'value': 'new'} for name in ('name', 'resource_class')]
    client.ask('PATCH', f'/v1/nodes/{node}', changes)
    of_node = client.get(f'/v1/history?node={node}')['history']
    assert {(entry['node_name'], entry['node_resource_class']) for entry in of_node} == {('new', 'new')}
    for operation, event in (
        ({'op': 'add', 'value': INSTANCE}, f'Instance {INSTANCE} was set.'),
        ({'op': 'remove'}, f'Instance {INSTANCE} was removed.'),
    ):
        response = client.ask('PATCH', f'/v1/nodes/{node}', [operation | {'path': '/instance_uuid'}])
        assert response.status_int == 200, response.text
        assert new() == [('node', 'INFO', event, True)]
    assert client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/extra/a', 'value': 1}]).status_int == 200
    assert new() == []
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204
    assert new() == [('node', 'INFO', 'The node was deleted.', True)]
    assert client.ask('GET', f'/v1/nodes/{node}/history').status_int == 404
    of_node = [entry for entry in client.get('/v1/history')['history'] if entry['node_uuid'] == node]
    assert {(entry['node_name'], entry['node_resource_class']) for entry in of_node} == {(None, None)}


def test_reservations(app, client, available):
    node = available()
    new = Recorder(client, node)
    new()

    def hold(**more):
        response = client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCE, 'node_uuid': node, **more})
        assert response.status_int == 201, response.text
        return response.json['reservation']

    held = hold(expires_in=60)
    seconds = held['expires_at'].partition('.')[0]
    event = f'Reservation {held["uuid"]} holds the node for instance {INSTANCE}'
    assert new() == [('reservation', 'INFO', f'{event} until {seconds}+00:00.', True)]
    assert client.ask('POST', f'/v1/reservations/{held["uuid"]}/renew').status_int == 200
    assert client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCE, 'node_uuid': node}).status_int == 200
    assert new() == []
    assert client.ask('DELETE', f'/v1/reservations/{held["uuid"]}').status_int == 204
    assert new() == [('reservation', 'INFO', f'Reservation {held["uuid"]} was deleted.', True)]
    held = hold()
    ask(client, node, 'active', reservation_uuid=held['uuid'])
    used = f'Reservation {held["uuid"]} was used: instance {INSTANCE} is deployed on the node.'
    assert new()[1:] == [('reservation', 'INFO', used, True), provisioning('available', 'deploying', 'active')]


def test_expired_reservations(app, client, available):
    nodes = [available() for _ in range(3)]
    instances = [f'{INSTANCE[:-1]}{number}' for number in range(3)]
    for node, instance in zip(nodes, instances, strict=True):
        body = {'instance_uuid': instance, 'node_uuid': node, 'expires_in': 60}
        assert client.ask('POST', '/v1/reservations', body).status_int == 201
    expire(app)
    assert reservations.purge(app.service) == 3
    for node, instance in zip(nodes, instances, strict=True):
        *_, last = entries(client, node)
        assert re.fullmatch(f'Reservation .{{36}} for instance {instance} expired at .*', last['event'])
        assert (last['event_type'], last['user'], last['request_id']) == ('reservation', None, None)


def test_writes_of_traits(client):
    node = client.node()['uuid']
    path, new = f'/v1/nodes/{node}/traits', Recorder(client, node)
    new()
    for method, more, body, added, removed in (
        ('PUT', '', {'traits': ['CUSTOM_A', 'CUSTOM_B']}, ['CUSTOM_A', 'CUSTOM_B'], []),
        ('PUT', '', {'traits': ['CUSTOM_B', 'CUSTOM_A']}, None, None),
        ('PUT', '', {'traits': ['CUSTOM_A', 'CUSTOM_C']}, ['CUSTOM_C'], ['CUSTOM_B']),
        ('PUT', '/CUSTOM_A?source=hook', None, [], []),
        ('DELETE', '/CUSTOM_A?source=hook', None, [], []),
        ('DELETE', '', None, [], ['CUSTOM_A', 'CUSTOM_C']),
        ('DELETE', '', None, None, None),
    ):
        before = len(entries(client, node))
        response = client.ask(method, path + more, body)
        assert response.status_int in (200, 204), response.text
        written = entries(client, node)[before:]
        if added is None:
            assert written == []
            continue
        (entry,) = written
        source = 'hook' if 'hook' in more else 'operator'
        assert (entry['source'], entry['added'], entry['removed']) == (source, added, removed)
        assert entry['request_id'] == response.headers['X-OpenStack-Request-ID']


def test_imported_nodes(database_url, file):
    """Nodes that are created in bulk have the same history as single ones."""
    rows = [{'name': f'node{number}', 'driver': 'fake-hardware', 'traits': ['CUSTOM_A']} for number in range(3)]
    rows[2]['instance_uuid'] = INSTANCE
    manage(database_url, 'import', file({'nodes': [*rows, {'name': 'plain', 'driver': 'fake-hardware'}]}))
    with make_app(database_url) as app:
        client = Client(app)
        for row in rows:
            events = [(entry['event_type'], entry['source'], entry['added']) for entry in entries(client, row['name'])]
            assert events == [('node', None, None), ('trait', 'operator', ['CUSTOM_A'])]
            shown = client.get(f'/v1/nodes/{row["name"]}/traits?detail=true')['traits'][0]['sources'][0]
            assert shown['since'] == entries(client, row['name'])[1]['created_at']
        assert len(entries(client, 'plain')) == 1


def test_a_refused_write_leaves_no_entry(client, available):
    node = available(name='one')
    new = Recorder(client, node)
    new()
    for method, path, body in (
        ('PUT', 'traits', {'traits': ['CUSTOM_A', 'none']}),
        ('PUT', 'states/provision', {'target': 'manage!'}),
        ('PUT', 'states/provision', {'target': 'rebuild'}),
        ('PUT', 'states/power', {'target': 'none'}),
        ('PATCH', '', [{'op': 'add', 'path': '/instance_uuid', 'value': 'none'}]),
    ):
        assert client.ask(method, f'/v1/nodes/{node}/{path}'.rstrip('/'), body).status_int >= 400
    assert client.ask('POST', '/v1/nodes', {'name': 'one', 'driver': 'fake-hardware'}).status_int == 409
    assert new() == []
    assert len(entries(client)) == 1


def test_orders_and_pages(client):
    node = client.node()['uuid']
    for number in range(4):
        client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}')
    for path in (f'/v1/nodes/{node}/history', '/v1/history'):
        everything = [entry['uuid'] for entry in client.get(path)['history']]
        assert len(everything) == 5
        for more, expected in (('', everything), ('&sort_dir=desc', everything[::-1])):
            address, uuids = f'{path}?limit=2&sort_key=created_at{more}', []
            while address:
                page = client.get(address.removeprefix('http://localhost'))
                uuids += [entry['uuid'] for entry in page['history']]
                address = page.get('next')
            assert uuids == expected


def test_filters(app, client):
    one, two = client.node(name='one')['uuid'], client.node(name='two')['uuid']
    for path in ('one/traits/CUSTOM_A_B', 'one/traits/CUSTOM_AXB?source=hook', 'two/traits/CUSTOM_A_B'):
        client.ask('PUT', f'/v1/nodes/{path}')
    client.ask('DELETE', '/v1/nodes/two/traits/CUSTOM_A_B')
    everything = entries(client)
    moments = [entry['created_at'] for entry in everything]

    def found(**query):
        return [everything.index(entry) for entry in client.get(f'/v1/history?{urlencode(query)}')['history']]

    assert found() == [0, 1, 2, 3, 4, 5]
    assert found(node='one') == found(node=one) == [0, 2, 3]
    assert found(trait='CUSTOM_A_B') == [2, 4, 5]
    assert found(trait='CUSTOM_A_B,CUSTOM_AXB', node=one) == [2, 3]
    assert found(trait='CUSTOM_A') == []
    assert found(source='hook') == [3]
    assert found(source='nobody') == []
    assert found(event_type='node') == [0, 1]
    assert (found(severity='INFO'), found(severity='ERROR')) == ([0, 1, 2, 3, 4, 5], [])
    with app.service.write() as connection:
        table = tables.node_history
        connection.execute(sa.update(table).where(table.c.uuid == everything[3]['uuid']).values(severity='ERROR'))
    everything[3]['severity'] = 'ERROR'
    assert found(severity='ERROR') == found(severity='ERROR', node='one') == [3]
    assert found(since=moments[4], node='two') == [4, 5]
    assert found(until=moments[2], node='one') == [0, 2]
    assert found(since=moments[2], until=moments[3], node='one', source='operator') == [2]
    # An unescaped + is a space.
    assert len(client.get(f'/v1/history?since={moments[4]}&node={two}')['history']) == 2
    assert client.ask('DELETE', '/v1/nodes/two').status_int == 204
    assert len(entries(client, two)) == 4
    assert client.ask('GET', '/v1/history?node=two').status_int == 404


NOW = datetime.datetime.now(datetime.UTC)
BAD_TIMES = ['2026-01-01T00:00:00', 'yesterday', '', '1767225600', '99999-01-01T00:00:00Z', '2026-01-01']


@pytest.mark.parametrize('name', ['since', 'until', 'at'])
def test_times_that_are_refused(client, name):
    node = client.node()['uuid']
    path = f'/v1/nodes/{node}/traits' if name == 'at' else '/v1/history'
    for value in BAD_TIMES:
        response = client.ask('GET', f'{path}?{urlencode({name: value})}')
        assert (response.status_int, 'an offset' in message(response)) == (400, True), value
    future = (NOW + datetime.timedelta(days=1)).isoformat()
    response = client.ask('GET', f'{path}?{urlencode({name: future})}')
    assert (response.status_int, 'is in the future: the time is' in message(response)) == (400, True)


def test_bad_input(client):
    node = client.node()['uuid']
    client.ask('PUT', f'/v1/nodes/{node}/maintenance', {'reason': 'x' * 300})
    for path, status, words in (
        ('/v1/history?event_type=nothing', 400, 'is not a type of events. The types are provisioning, power'),
        ('/v1/history?severity=error', 400, 'is not a severity. The severities are INFO, WARNING, ERROR'),
        ('/v1/history?source=a%20b', 400, 'a source is 1 to 64 letters'),
        ('/v1/history?trait=custom_a', 400, 'cannot be a trait'),
        ('/v1/history?sort_key=event', 400, 'The sort_key value "event" is an invalid field for sorting'),
        ('/v1/history?limit=0', 400, 'Limit must be positive'),
        ('/v1/history?marker=x', 400, 'Expected UUID'),
        (f'/v1/history?marker={INSTANCE}', 404, f'Node history record {INSTANCE} could not be found.'),
        ('/v1/history?node=nowhere', 404, 'Node nowhere could not be found.'),
        ('/v1/history?colour=red', 400, 'Unexpected arguments: colour'),
        (f'/v1/nodes/{node}/history?marker={INSTANCE}', 404, f'Node history record {INSTANCE} could not be found.'),
        (f'/v1/nodes/{node}/history/{INSTANCE}', 404, f'Node history record {INSTANCE} could not be found.'),
        (f'/v1/nodes/{node}/history/%20', 400, 'Expected UUID or name for event'),
        (f'/v1/nodes/{INSTANCE}/history', 404, f'Node {INSTANCE} could not be found.'),
        (f'/v1/nodes/{node}/traits?at=2026-01-01T00:00:00Z&detail=true', 400, 'cannot be combined'),
    ):
        response = client.ask('GET', path)
        assert (response.status_int, words in message(response)) == (status, True), response.text
    assert client.ask('GET', '/v1/history', version='1.37').status_int == 404
    assert client.ask('GET', f'/v1/nodes/{node}/history', version='1.77').status_int == 404
    response = client.ask('GET', f'/v1/nodes/{node}/traits?at=2026-01-01T00:00:00Z', version='1.37')
    assert response.status_int == 406


def test_entries_of_another_node(client):
    one, two = client.node()['uuid'], client.node()['uuid']
    entry = entries(client, one)[0]['uuid']
    assert client.get(f'/v1/nodes/{one}/history/{entry}')['uuid'] == entry
    assert client.ask('GET', f'/v1/nodes/{two}/history/{entry}').status_int == 404
    assert client.ask('GET', f'/v1/nodes/{two}/history?marker={entry}').status_int == 404


def test_long_events_are_cut_in_the_list(client):
    node = client.node()['uuid']
    for length in (255, 256):
        prefix = 'Maintenance was set: '
        event = prefix + 'x' * (length - len(prefix))
        client.ask('PUT', f'/v1/nodes/{node}/maintenance', {'reason': event.removeprefix(prefix)})
        entry = client.get(f'/v1/nodes/{node}/history')['history'][-1]
        assert entry['event'] == (event if length == 255 else f'{event[:251]}...')
        for path in (f'/history/{entry["uuid"]}', '/history?detail=true'):
            document = client.get(f'/v1/nodes/{node}{path}')
            assert document.get('history', [document])[-1]['event'] == event
