"""Previews of inspection rules, and their runs over stored data, on each database."""

import pytest

from ironic_traits.inventory.inspection import rule_applications, rule_previews
from ironic_traits.matching.rules.inspection_rules import standard
from tests.support.client import message
from tests.support.rule_runs import DATA, add, data, expect, has_flag, history, rule, sources, store_data, store_rules

PREVIEW, APPLY = '/v1/inspection_rules/preview', '/v1/inspection_rules/apply'
#: Parts of the inventory without standard traits.
PLAIN = {'cpu': {'count': 8, 'flags': ['x']}, 'disks': None}
STANDARD = [each.name for each in standard()]


@pytest.fixture
def nodes(app, client):
    """Three nodes. The last one has no data."""
    uuids = [client.node(name=name)['uuid'] for name in ('one', 'two', 'three')]
    store_data(app, uuids[0], data(**PLAIN))
    store_data(app, uuids[1], data(cpu={'count': 16}, disks=None))
    return uuids


def ask(client, path, **body):
    response = client.ask('POST', path, body)
    assert response.status_int == 200, response.text
    return response.json


def preview(client, **body):
    return ask(client, PREVIEW, **{'where': {}, 'without': STANDARD} | body)


def refused(client, path, **body):
    response = client.ask('POST', path, body)
    return response.status_int, message(response)


def test_a_preview(app, client, nodes):
    store_rules(app, add('small', 'CUSTOM_SMALL', conditions=has_flag('x')), expect('cpus', 8))
    client.ask('PUT', f'/v1/nodes/{nodes[0]}/traits/CUSTOM_MINE')
    before = [history(client, uuid) for uuid in nodes]
    shown = preview(client)
    assert (shown['selected'], shown['without_data'], shown['next']) == (3, 1, None)
    one, two = shown['nodes']
    rules = {each['rule']: each for each in one['rules']}
    nothing = {'unmet': None, 'failure': None, 'traits': [], 'changes': [], 'mismatches': [], 'warnings': []}
    assert rules['small'] == {**nothing, 'rule': 'small', 'matched': True, 'traits': ['CUSTOM_SMALL']}
    mismatch = 'too few CPUs: gt (values: [8, 8])'
    assert rules['cpus'] == {**nothing, 'rule': 'cpus', 'matched': True, 'mismatches': [mismatch]}
    assert (one['added'], one['removed'], one['kept']) == (['CUSTOM_SMALL'], [], [])
    unmet = 'condition 1, has (inventory[cpu][flags] is not known)'
    (outcome,) = (each for each in two['rules'] if each['rule'] == 'small')
    assert outcome == {**nothing, 'rule': 'small', 'matched': False, 'unmet': unmet}
    assert shown['totals'] == {
        'nodes': 2,
        'changed': 1,
        'added': {'CUSTOM_SMALL': 1},
        'removed': {},
        'matched': {'cpus': 2, 'small': 1},
        'failed': {},
        'mismatched': {'cpus': 1},
    }
    # Nothing was written.
    assert [history(client, uuid) for uuid in nodes] == before
    assert client.get(f'/v1/nodes/{nodes[0]}/validate')['inspect'] == {'result': True}


def test_drafts(app, client, nodes):
    """A rule in the body replaces the one of the same name."""
    store_rules(app, add('a', 'CUSTOM_A'), add('b', 'CUSTOM_B'))
    shown = preview(client, rules=[add('a', 'CUSTOM_NEW'), add('c', 'CUSTOM_B')], nodes=['one'], where=None)
    assert shown['nodes'][0]['added'] == ['CUSTOM_B', 'CUSTOM_NEW']
    assert shown['overlaps'] == {'CUSTOM_B': ['b', 'c']}
    assert preview(client, without=[*STANDARD, 'a'])['nodes'][0]['added'] == ['CUSTOM_B']
    assert preview(client, without=[])['totals']['matched']['standard.cpu-flags'] == 2
    # Once the draft is in force, its digest is valid for the execution.
    draft = preview(client, rules=[add('c', 'CUSTOM_C')], without=[])['digest']
    store_rules(app, add('a', 'CUSTOM_A'), add('b', 'CUSTOM_B'), add('c', 'CUSTOM_C'))
    assert preview(client, without=[])['digest'] == draft


def test_pages(app, client, nodes):
    store_data(app, nodes[2], DATA)
    first = preview(client, limit=2)
    assert [node['name'] for node in first['nodes']] == ['one', 'two']
    assert first['next'] == nodes[1]
    second = preview(client, limit=2, marker=first['next'])
    assert [node['name'] for node in second['nodes']] == ['three']
    assert (second['next'], second['digest']) == (None, first['digest'])


def test_the_data_in_the_body(client):
    shown = ask(client, PREVIEW, inventory=DATA, node={'name': 'X'}, rules=[
        rule('name', ('add-trait', {'name': 'CUSTOM_{node.name}', 'format': True})), add('bad', 'CUSTOM_A', conditions=[
            {'op': 'eq', 'args': {'values': ['{plugin_data[rack]}', 'r8']}}
        ]),
    ])  # fmt: skip
    (node,) = shown['nodes']
    assert (shown.get('digest'), node['uuid']) == (None, None)
    assert {'CUSTOM_X', 'HW_CPU_X86_AVX2'} < set(node['added'])
    assert 'CUSTOM_A' not in node['added']
    (unmet,) = (each['unmet'] for each in node['rules'] if each['rule'] == 'bad')
    assert unmet == "condition 1, eq (values: ['r7', 'r8'])"


BAD = {
    'no selection': ({'rules': []}, "either 'where'"),
    'two selections': ({'where': {}, 'nodes': ['one']}, "either 'where'"),
    'node without data': ({'where': {}, 'node': {}}, "'inventory', which is missing"),
    'data and nodes': ({'inventory': {'inventory': {}}, 'where': {}}, 'cannot be combined with where'),
    'no data': (
        {'inventory': {'cpu': {}}},
        "'inventory' is no data of an inspection: it is not an object",
    ),
    'bad rule': ({'where': {}, 'rules': [{'name': 'a b', 'actions': []}]}, "rule a b: its name 'a b' is not 1 to 59"),
    'many rules': ({'where': {}, 'rules': [{'name': 'x' * 2**20}]}, "'rules' may have at most 1048576 bytes"),
    'twice': ({'where': {}, 'rules': [add('a', 'CUSTOM_A')] * 2}, '2 rules have the name a'),
    'unknown rule': ({'where': {}, 'without': ['nothing']}, "'without' names rules that are not in force: nothing"),
    'sensitive': ({'where': {}, 'rules': [add('a', 'CUSTOM_A', sensitive=True)]}, 'Sensitive rules see secrets'),
    'unknown filter': ({'where': {'x': 1}}, "'where' has unknown filters: x"),
    'null': ({'where': {}, 'without': [None]}, 'without null'),
}


def test_bad_previews(client):
    for name, (body, reason) in BAD.items():
        status, text = refused(client, PREVIEW, **body)
        assert status == 400, name
        assert reason in text, name


def test_applying(app, client, nodes):
    fail = rule('end', ('fail', {'msg': 'broken'}), conditions=has_flag('broken'), priority=9)
    bad = rule('bad', ('add-trait', {'name': '{inventory[x]}', 'format': True}))
    store_rules(app, add('a', 'CUSTOM_A', conditions=has_flag('x')), expect('cpus', 8), fail, bad)
    store_data(app, nodes[2], data(cpu={'flags': ['broken']}))
    digest = preview(client, without=[])['digest']
    done = ask(client, APPLY, digest=digest, where={})
    assert done == {
        **{'selected': 3, 'without_data': 0, 'applied': 3, 'changed': 1, 'ended': 1, 'locked': [], 'next': None},
        'failed': {'bad': 2},
        'mismatched': {'cpus': 1},
    }
    assert sources(client, nodes[0]) == {'CUSTOM_A': ['rule:a']}
    assert sources(client, nodes[2]) == {}
    # The digest stays the same, and a second execution changes nothing.
    entries = [history(client, uuid) for uuid in nodes]
    again = ask(client, APPLY, digest=digest, where={})
    assert (again['applied'], again['changed'], again['failed']) == (3, 0, {'bad': 2})
    assert [history(client, uuid) for uuid in nodes] == entries


def test_applying_page_by_page(app, client, nodes):
    store_rules(app, add('a', 'CUSTOM_A'))
    digest = preview(client, without=[])['digest']
    body = {'digest': digest, 'where': {}, 'limit': 1}
    first = ask(client, APPLY, **body)
    assert (first['applied'], first['next']) == (1, nodes[0])
    assert sources(client, nodes[1]) == {}
    second = ask(client, APPLY, **body, marker=first['next'])
    assert (second['applied'], second['next']) == (1, None)
    assert sources(client, nodes[1]) == {'CUSTOM_A': ['rule:a']}


@pytest.mark.parametrize('change', ['rules', 'data', 'nodes'])
def test_an_outdated_preview(app, client, nodes, change):
    store_rules(app, add('a', 'CUSTOM_A'))
    digest = preview(client, without=[])['digest']
    if change == 'rules':
        store_rules(app, add('a', 'CUSTOM_B'))
    elif change == 'data':
        store_data(app, nodes[0])
    else:
        client.node(name='four')
    response = client.ask('POST', APPLY, {'digest': digest, 'where': {}})
    assert response.status_int == 409
    assert response.json['code'] == 'baremetal.inspection.outdated'
    assert sources(client, nodes[0]) == {}
    assert ask(client, APPLY, digest=response.json['digest'], where={})['applied'] == 2


def test_the_digest_of_a_draft_is_none_of_an_execution(app, client, nodes):
    digest = preview(client, rules=[add('a', 'CUSTOM_A')], without=[])['digest']
    assert refused(client, APPLY, digest=digest, where={})[0] == 409
    for body, reason in (({}, "needs the 'digest'"), ({'digest': 'x'}, 'is not the digest of a preview')):
        status, text = refused(client, APPLY, where={}, **body)
        assert status == 400
        assert reason in text


def test_nodes_that_a_worker_has_locked_are_left_out(app, client, nodes):
    store_rules(app, add('a', 'CUSTOM_A'))
    digest = preview(client, without=[])['digest']
    with app.service.write() as connection:
        connection.exec_driver_sql("UPDATE nodes SET reservation = 'worker' WHERE name = 'one'")
    done = ask(client, APPLY, digest=digest, where={})
    assert (done['applied'], done['locked']) == (1, [{'uuid': nodes[0], 'name': 'one'}])
    assert sources(client, nodes[0]) == {}


def test_a_page_ends_early_when_it_takes_long(app, client, nodes, monkeypatch):
    """A page that takes long ends early. Its marker continues, also past nodes that are locked or without data."""
    for module, names in ((rule_previews, ['_SECONDS']), (rule_applications, ['_BATCH_SECONDS', '_SECONDS'])):
        for name in names:
            monkeypatch.setattr(module, name, 0)
    store_rules(app, add('a', 'CUSTOM_A'))
    store_data(app, nodes[2], DATA)
    with app.service.write() as connection:
        connection.exec_driver_sql("UPDATE nodes SET reservation = 'worker' WHERE name = 'two'")
    seen, body = [], {'without': []}
    while body.get('marker', True):
        page = preview(client, **body)
        seen.append([node['name'] for node in page['nodes']])
        body['marker'] = page['next']
    assert seen == [['one'], ['two'], ['three']]
    done, body = [], {'digest': page['digest'], 'where': {}}
    while body.get('marker', True):
        page = ask(client, APPLY, **body)
        done.append((page['applied'], [node['name'] for node in page['locked']]))
        body['marker'] = page['next']
    assert done == [(1, []), (1, ['two'])]


def test_earlier_versions_do_not_have_it(client):
    for path in (PREVIEW, APPLY):
        assert client.ask('POST', path, {'where': {}}, version='1.95').status_int == 404
