"""Inspection rules over HTTP: invalid rules, and concurrent writers."""

from oslo_utils import uuidutils

from tests.support.concurrency import at_once

RULES = '/v1/inspection_rules'
ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}
TRUE = {'op': 'is-true', 'args': {'value': '{node.name}'}}


def nested(levels):
    value = 'x'
    for _ in range(levels):
        value = [value]
    return value


#: {problem: (fields of the rule, part of the message)}.
HOSTILE = {
    'deep': ({'conditions': [{'op': 'eq', 'args': {'values': nested(50)}}]}, 'nested deeper than 12'),
    'too deep for JSON': ({'conditions': [{'op': 'eq', 'args': {'values': nested(70)}}]}, 'nested too deep'),
    'long': ({'actions': [{'op': 'fail', 'args': {'msg': 'x' * 70_000}}]}, 'more than 65536 characters'),
    'many conditions': ({'conditions': [TRUE] * 101}, 'conditions are a list of at most 100'),
    'many actions': ({'actions': [ADD] * 101}, 'actions are a list of at most 100'),
    'a long name': ({'name': 'x' * 60}, 'is not 1 to 59 letters'),
    'a name with a newline': ({'name': 'gold\n'}, 'is not 1 to 59 letters'),
    'a name that is no text': ({'name': ['gold']}, 'name'),
    'a NUL': ({'description': 'a\0b'}, 'NUL character'),
    'a large priority': ({'priority': 2**40}, 'is not an integer of 32 bits'),
    'a priority of digits': ({'priority': '9' * 5000}, 'for field/attribute priority'),
    'a bomb': ({'conditions': [{'op': 'matches', 'args': {'value': 'x', 'regex': '(a{1000}){1000}'}}]}, 'condition 1'),
    'a look-ahead': ({'conditions': [{'op': 'matches', 'args': {'value': 'x', 'regex': '(?=a)'}}]}, 'condition 1'),
    'an attribute': ({'conditions': [{'op': 'is-true', 'args': {'value': '{node.__class__}'}}]}, 'is no reference'),
    'a format': ({'actions': [{'op': 'fail', 'args': {'msg': '{node.name!r:>999999999}'}}]}, 'is no reference'),
    'keys that are no text': ({'actions': [{'op': ['fail'], 'args': {}}]}, 'is not an object with'),
    'a request': (
        {'actions': [{'op': 'api-call', 'args': {'url': 'http://127.0.0.1/'}}]},
        'rules do not send requests',
    ),
}


def test_hostile_rules(client):
    for what, (fields, sentence) in HOSTILE.items():
        response = client.ask('POST', RULES, {'actions': [ADD], **fields})
        assert (response.status_int, what) == (400, what)
        assert sentence in response.text, (what, response.text)
    surrogate = b'{"actions": [{"op": "fail", "args": {"msg": "\\ud800"}}]}'
    assert client.ask('POST', RULES, raw=surrogate).status_int == 400
    assert client.get(RULES) == {'inspection_rules': []}


def test_a_uuid_that_is_none_is_the_name(client):
    """Ironic's guide, and rules in files, have names in the place of uuids."""
    rule = client.ask('POST', RULES, {'actions': [ADD], 'uuid': 'gold-memory'}).json
    assert rule['name'] == 'gold-memory'
    assert uuidutils.is_uuid_like(rule['uuid'])
    assert client.get(f'{RULES}/gold-memory')['uuid'] == rule['uuid']
    assert client.ask('POST', RULES, {'actions': [ADD], 'uuid': 'gold-memory'}).status_int == 409
    for fields in ({'uuid': 'a b'}, {'uuid': 'a', 'name': 'b'}, {'uuid': 5}, {'uuid': 'x' * 60}):
        assert client.ask('POST', RULES, {'actions': [ADD], **fields}).status_int == 400, fields


def test_a_patch_cannot_exceed_the_limits(client):
    uuid = client.ask('POST', RULES, {'actions': [ADD], 'conditions': [TRUE]}).json['uuid']
    more = [{'op': 'add', 'path': '/conditions/-', 'value': TRUE}] * 100
    response = client.ask('PATCH', f'{RULES}/{uuid}', more)
    assert (response.status_int, 'conditions are a list of at most 100' in response.text) == (400, True)
    long = {'op': 'fail', 'args': {'msg': 'x' * 40_000}}
    add = [{'op': 'add', 'path': '/actions/-', 'value': long}]
    assert [client.ask('PATCH', f'{RULES}/{uuid}', add).status_int for _ in range(2)] == [200, 400]


def test_a_name_is_given_once(clients):
    """One rule gets the name, although many clients create or rename rules at the same time."""
    uuids = [client.ask('POST', RULES, {'actions': [ADD]}).json['uuid'] for client in clients]
    rename = [{'op': 'add', 'path': '/name', 'value': 'gold'}]

    def work(client, number):
        if number % 2:
            return client.ask('POST', RULES, {'actions': [ADD], 'name': 'gold'}).status_int
        return client.ask('PATCH', f'{RULES}/{uuids[number]}', rename).status_int

    statuses = at_once(clients, work)
    assert sorted(statuses)[1:] == [409] * (len(clients) - 1)
    assert sum('name' in rule for rule in clients[0].get(RULES)['inspection_rules']) == 1


def test_changes_at_the_same_time_are_all_made(clients):
    uuid = clients[0].ask('POST', RULES, {'actions': [ADD], 'conditions': []}).json['uuid']

    more = [{'op': 'add', 'path': '/conditions/-', 'value': TRUE}]
    statuses = at_once(clients, lambda client, _: client.ask('PATCH', f'{RULES}/{uuid}', more).status_int)
    assert set(statuses) == {200}
    assert len(clients[0].get(f'{RULES}/{uuid}')['conditions']) == len(clients)
