"""The history of nodes: which events leave entries, which entries are kept, and the traits at a past time."""

import datetime
import re
import time
from urllib.parse import urlencode

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits import purges
from ironic_traits.db import tables
from ironic_traits.inventory import history_purge, reservations
from tests.support import commands
from tests.support.client import Client, message
from tests.support.inventory_files import manage
from tests.support.reservations import expire
from tests.support.service import finish_work, make_app
from tests.support.transitions import ask, pass_time

INSTANCE = 'cccccccc-0000-4000-8000-000000000001'
HOST = '127.0.0.1'


def entries(client, node=None):
    """Return the history, all fields: of one node, or of all."""
    return client.get('/v1/history' + (f'?node={node}' if node else ''))['history']


class Recorder:
    """Returns what has been written to the history of a node since the last call."""

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
    """A driver may wait many times. Only the start and the end of a transition leave entries."""
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
    """The same write sets maintenance, too."""
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
    """An abort, and a broken lock."""
    node = client.node(driver_info={'fake_delays': {'inspect': 1000}})['uuid']
    ask(client, node, 'manage')
    finish_work(app)
    ask(client, node, 'inspect')
    finish_work(app)
    new = Recorder(client, node)
    new()
    ask(client, node, 'abort')
    event = 'The provision state "inspect wait" was aborted by request.'
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
    node = client.node()['uuid']
    new = Recorder(client, node)
    new()
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
    """Nodes that are created in bulk have the same history as others."""
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


SETS = st.sets(st.sampled_from(['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX']))


def test_traits_at_every_past_time(app, client):
    """Whatever is written: at the time of each entry the node has what it had after it."""

    @hypothesis.settings(max_examples=8, deadline=None, derandomize=True)
    @hypothesis.given(st.lists(SETS, min_size=1, max_size=6))
    def check(writes):
        node = client.node()
        states_at = {}

        def note(traits):
            *_, last = entries(client, node['uuid'])
            states_at[last['created_at']] = sorted(traits)

        note([])
        for traits in writes:
            client.ask('PUT', f'/v1/nodes/{node["uuid"]}/traits', {'traits': sorted(traits)})
            note(traits)
        for moment, traits in states_at.items():
            assert client.get(f'/v1/nodes/{node["uuid"]}/traits?{urlencode({"at": moment})}') == {'traits': traits}
        earliest = datetime.datetime.fromisoformat(min(states_at)) - datetime.timedelta(microseconds=1)
        response = client.ask('GET', f'/v1/nodes/{node["uuid"]}/traits?{urlencode({"at": earliest.isoformat()})}')
        assert (response.status_int, response.json['code']) == (410, 'baremetal.history.not_known')
        assert 'its history begins at' in message(response)

    check()


def test_traits_of_a_node_without_a_history(app, client):
    """A node from before the history, or one whose entries were purged by age."""
    node = client.node()['uuid']
    with app.service.write() as connection:
        connection.execute(sa.delete(tables.node_history))
    response = client.ask('GET', f'/v1/nodes/{node}/traits?at=2026-01-01T00:00:00Z')
    assert (response.status_int, 'its history is empty' in message(response)) == (410, True)
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    moment = entries(client, node)[0]['created_at']
    assert client.get(f'/v1/nodes/{node}/traits?at={moment}') == {'traits': ['CUSTOM_A']}


def test_traits_of_a_deleted_node_with_the_same_uuid(client):
    """They are not known: the history of the node begins with its own creation."""
    node = client.node()['uuid']
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    moment = entries(client, node)[-1]['created_at']
    client.ask('DELETE', f'/v1/nodes/{node}')
    client.node(uuid=node)
    created = entries(client, node)[-1]['created_at']
    response = client.ask('GET', f'/v1/nodes/{node}/traits?at={moment}')
    assert (response.status_int, f'its history begins at {created[:19]}' in message(response)) == (410, True)
    assert client.get(f'/v1/nodes/{node}/traits?at={created}') == {'traits': []}


def _age(app, node, days):
    """Make the entries of a node older."""
    with app.service.write() as connection:
        for row in connection.execute(sa.select(tables.node_history).where(tables.node_history.c.node_uuid == node)):
            connection.execute(
                sa.update(tables.node_history)
                .where(tables.node_history.c.id == row.id)
                .values(created_at=row.created_at - datetime.timedelta(days=days))
            )


def test_purge(app, client, monkeypatch):
    monkeypatch.setattr(history_purge, '_BATCH', 3)
    monkeypatch.setattr(history_purge, '_NODES', 2)
    nodes = [client.node()['uuid'] for _ in range(5)]
    for node in nodes:
        for number in range(7):
            client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}')
    gone = nodes.pop()
    assert client.ask('DELETE', f'/v1/nodes/{gone}').status_int == 204
    before = {node: entries(client, node) for node in nodes}

    def purge(**limits):
        return history_purge.purge(app.service, **{'max_entries': 0, 'max_days': 0} | limits)

    assert (purge(), purge(max_entries=8), purge(max_days=1)) == (0, 0, 0)
    assert purge(max_entries=3) == 4 * 5
    for node in nodes:
        assert entries(client, node) == before[node][-3:]
        last, earlier = (before[node][position]['created_at'] for position in (-3, -4))
        # One entry is the creation. The clock of SQLite counts milliseconds: several writes may be of one moment.
        until = [entry for entry in before[node] if entry['created_at'] <= last]
        assert len(client.get(f'/v1/nodes/{node}/traits?{urlencode({"at": last})}')['traits']) == len(until) - 1
        assert client.ask('GET', f'/v1/nodes/{node}/traits?{urlencode({"at": earlier})}').status_int in (200, 410)
    # The number of entries of a deleted node has no limit; their age has.
    assert len(entries(client, gone)) == 9
    for node in (gone, nodes[0]):
        _age(app, node, 10)
    assert purge(max_days=11) == 0
    assert purge(max_days=9) == 9 + 3
    assert [len(entries(client, node)) for node in [gone, *nodes]] == [0, 0, 3, 3, 3]
    assert purge(max_entries=1, is_stopped=lambda: True) == 0


def test_purge_command(database_url):
    with make_app(database_url) as app:
        client = Client(app)
        for node in [client.node()['uuid'] for _ in range(2)]:
            client.ask('PUT', f'/v1/nodes/{node}/maintenance', {})
    for options, code, text in (
        ((), 0, '0 entries were deleted'),
        (('--max-entries', '1', '--max-days', '1'), 0, '2 entries were deleted'),
        (('--max-days', '-1'), 2, '-1 is negative'),
        (('--max-entries', 'some'), 2, "'some' is not an integer"),
    ):
        ended = commands.run('ironic-traits-manage', '--database', database_url, 'history', 'purge', *options)
        assert (ended.returncode, text in ended.stdout + ended.stderr) == (code, True), ended.stderr


def test_worker_purges(app, client, monkeypatch):
    monkeypatch.setattr(purges, 'FIRST', 0.01)
    node = client.node()['uuid']
    for number in range(3):
        client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}')
    for interval, count in ((0, 4), (3600, 1)):
        app.service.conf.set_override('purge_interval', interval, group='history')
        app.service.conf.set_override('max_entries', 1, group='history')
        with purges.Purges(app.service):
            deadline = time.monotonic() + 10
            while interval and len(entries(client, node)) > 1 and time.monotonic() < deadline:
                time.sleep(0.02)
        assert len(entries(client, node)) == count
