"""Hostile rules and inspection data over HTTP are refused with 400, or fail the rule, in bounded time.

The limits count work, not seconds. Without the limits, these tests would run for minutes.
"""

import json

from tests.support.client import message
from tests.support.inspections import MACS, add_port, post, ramdisk_data, waiting
from tests.support.rule_runs import DATA, add, data, expect, history, rule, store_rules
from tests.support.service import finish_work

PREVIEW = '/v1/inspection_rules/preview'
BOMB = {'op': 'matches', 'args': {'value': '{inventory[x]}', 'regex': '(.*a){20}b'}}


def nested(depth, leaf=1):
    """Return lists in lists."""
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def preview(client, **body):
    return client.ask('POST', PREVIEW, {'inventory': DATA} | body)


def outcome(client, inventory, *conditions, actions=(('add-trait', {'name': 'CUSTOM_A'}),)):
    """Return the result of a rule on an inventory."""
    response = preview(client, rules=[rule('a', *actions, conditions=list(conditions))], inventory=data(**inventory))
    assert response.status_int == 200, response.text
    (result,) = (each for each in response.json['nodes'][0]['rules'] if each['rule'] == 'a')
    return result


RULES = {
    'attribute': (add('a', '{node.__class__}', conditions=[BOMB]), 'is not a trait'),
    'global': (rule('a', ('log', {'msg': '{inventory.__init__.__globals__}'})), 'is no reference'),
    'format specification': (rule('a', ('log', {'msg': '{inventory[x]:1000000000}'})), 'is no reference'),
    'nested': (add('a', 'CUSTOM_A', conditions=nested(30)), 'nested deeper than 12'),
    'large': (rule('a', ('log', {'msg': 'x' * 70_000})), 'more than 65536 characters'),
    'large expression': (
        add('a', 'CUSTOM_A', conditions=[{'op': 'matches', 'args': {'value': 'x', 'regex': '(a{1000}){1000}'}}]),
        'regular expression',
    ),
    'many': ([add(f'r{number}', 'CUSTOM_A') for number in range(1001)], 'There are 1001 rules, more than 1000'),
    'request': (rule('a', ('api-call', {'url': 'http://169.254.169.254/'})), 'is not supported'),
    'name': (add('a/../b', 'CUSTOM_A'), 'is not 1 to 59 letters'),
}


def test_rules_that_are_refused(client):
    for document, reason in RULES.values():
        response = preview(client, rules=document if isinstance(document, list) else [document])
        assert response.status_int == 400, response.text
        assert reason in message(response)


def test_rules_that_take_long_fail(client):
    """A regular expression from the data in a loop fails the rule."""
    text = {'x': 'a' * 60_000, 'list': ['(.*a){20}b'] * 130}
    slow = BOMB | {'args': {'value': '{inventory[x]}', 'regex': '{item}'}, 'loop': '{inventory[list]}'}
    result = outcome(client, text, *[slow | {'op': '!matches', 'multiple': 'all'}] * 50)
    assert 'takes too long' in result['failure']


def test_templates_in_the_data_are_not_expanded(app, client):
    uuid = client.node(driver_info={'ipmi_password': 'hush-hush'})['uuid']
    names = {'names': ['{inventory[a]}', '{inventory[b]}'], 'normalize': True}
    store_rules(app, rule('a', ('add-traits', names)))
    found = data(a='{node.driver_info[ipmi_password]}', b='{node.uuid.__class__}')
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', found).status_int == 200
    traits = client.get(f'/v1/nodes/{uuid}/traits')['traits']
    assert {'CUSTOM_NODE_DRIVER_INFO_IPMI_PASSWORD', 'CUSTOM_NODE_UUID_CLASS'} <= {
        '_'.join(filter(None, trait.split('_'))) for trait in traits
    }
    assert 'HUSH' not in str(traits)


def test_secrets_stay_secret(app, client):
    """Secrets appear neither in traits nor in a preview, the history or a validation."""
    uuid = client.node(driver_info={'ipmi_password': 'hush-hush', 'token': 'hush-hush'})['uuid']
    secret = {'op': 'eq', 'args': {'values': ['{node.driver_info}', '{inventory[bmc_password]}', 'x']}}
    documents = [
        rule('e', ('expect', {'conditions': [secret], 'msg': '{node.driver_info[token]}'})),
        rule('t', ('add-trait', {'name': '{node.driver_info[token]}', 'format': True})),
        rule('w', ('set-attribute', {'path': 'description', 'value': '{node.driver_info}'})),
    ]
    store_rules(app, *documents)
    found = data(bmc_password='hush-hush')
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', found).status_int == 200
    shown = client.ask('POST', PREVIEW, {'nodes': [uuid], 'rules': [{**documents[0], 'name': 'draft'}]})
    assert shown.status_int == 200, shown.text
    everything = [shown.text, history(client, uuid), client.get(f'/v1/nodes/{uuid}/validate')]
    assert 'hush' not in str(everything)
    assert '******' in shown.text


BODIES = {
    'deep': (json.dumps(DATA | {'plugin_data': {'x': nested(500)}}).encode(), 400),
    'very deep': (b'{"inventory": ' + b'[' * 90_000 + b']' * 90_000 + b'}', 400),
    'NUL': (b'{"inventory": {"x": "\\u0000"}}', 400),
    'surrogate': (b'{"inventory": {"x": "\\ud800"}}', 400),
    'large': (json.dumps({'inventory': {'x': 'x' * (9 << 20)}}).encode(), 413),
    'long number': (b'{"inventory": {"x": ' + b'9' * 5000 + b'}}', 400),
}


def test_data_that_is_refused(client):
    path = f'/v1/nodes/{client.node()["uuid"]}/inventory'
    for name, (body, status) in BODIES.items():
        assert client.ask('PUT', path, raw=body).status_int == status, name
        assert client.ask('POST', PREVIEW, raw=b'{"inventory": ' + body + b'}').status_int == status, name
    assert client.ask('GET', path).status_int == 404


def test_a_ramdisk_cannot_stop_the_workers(app, client):
    """Workers survive the largest facts that rules can use, and texts too long for any column."""
    store_rules(
        app,
        rule('end', ('fail', {'msg': '{plugin_data[text]}'}), conditions=[
            {'op': '!is-none', 'args': {'value': '{plugin_data[text]}'}}
        ]),
        expect('cpus', 16),
    )  # fmt: skip
    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])
    for text in ('\U0001f4a5' * 16_000, '\x1b[2J\u202e', 'x' * 65_000):
        assert post(client, ramdisk_data(MACS[0], text=text)).status_int == 202
        finish_work(app)
        node = client.get(f'/v1/nodes/{uuid}')
        assert node['provision_state'] == 'inspect failed'
        assert node['last_error'].startswith('Failed to finish inspection: ')
        client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'inspect'})
        finish_work(app)
    found = ramdisk_data(MACS[0])
    found['inventory']['cpu'] |= {'count': 'x' * 60_000, 'flags': ['avx2'] * 10_000}
    assert post(client, found).status_int == 202
    finish_work(app)
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] in ('manageable', 'inspect failed')
