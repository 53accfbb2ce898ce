"""The clauses of ``eligibility``, compared with a plain predicate on random nodes, on each database.

Each encoding of a clause is compared: its condition on each node, its set, the bits of the index, the refusal, and all
that is derived from them. Each term, left out, is noticed.
"""

import datetime
import random
from collections import Counter

import pytest
import sqlalchemy as sa

from ironic_traits import clauses
from ironic_traits.context import Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import eligibility, node_providers
from ironic_traits.inventory.search import explanations, index_explanations, node_sets
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching.requests import understand
from tests.functional.search.test_index_explanations import context_of, prepare
from tests.functional.search.test_matches import allocate
from tests.support.client import Client
from tests.support.reservations import available, available_of, instance
from tests.support.service import make_app

#: The instance for which nodes are to be reserved. One of them is allocated to it.
OWN = instance(999)
#: {value of the fixture ``app``: each health that keeps a node back with the options of [matching] that it stands for}.
UNHEALTHY = {'off': (), 'Warning': ('Warning', 'Critical', 'Odd'), 'Critical': ('Critical', 'Odd')}
#: {name of a clause: function of a plain node and an instance: whether the node fulfils it}.
PLAIN = {
    'provision state': lambda node, holder: node['provision_state'] == 'available',
    'maintenance': lambda node, holder: not node['maintenance'],
    'instance': lambda node, holder: not node['instance_uuid'],
    'power state': lambda node, holder: node['power_state'] in ('power on', 'power off'),
    'health': lambda node, holder: not node['unhealthy'],
    'reserved': lambda node, holder: node['reservation'] != 'live',
    'allocated': lambda node, holder: node['consumer'] in (None, holder),
    'expectation': lambda node, holder: not node['mismatched'],
}
#: {key of a plain node: values, of which the first one fulfils all clauses}.
VALUES = {
    'provision_state': ['available', 'manageable', 'active', 'clean failed'],
    'maintenance': [False, True],
    'instance_uuid': [None, 'some'],
    'power_state': ['power off', 'power on', 'error', None],
    'health': [None, 'OK', 'Warning', 'Critical', 'Odd'],
    'reservation': [None, 'live', 'expired'],
    'consumer': [None, 'own', 'other'],
    'mismatched': [False, True],
}


@pytest.fixture(params=UNHEALTHY)
def unhealthy_from(request):
    return request.param


@pytest.fixture
def app(database_url, unhealthy_from):
    """An application with and without [matching] exclude_unhealthy."""
    options = {'unhealthy_from': 'Warning' if unhealthy_from == 'off' else unhealthy_from}
    options |= {'exclude_unhealthy': unhealthy_from != 'off'}
    with make_app(database_url, **{f'matching__{name}': value for name, value in options.items()}) as application:
        yield application


@pytest.fixture
def fleet(app, unhealthy_from):
    """Nodes with each single value, and with random ones: {uuid: plain node}."""
    choose = random.Random(1)
    plain = [{key: values[0] for key, values in VALUES.items()} for _ in range(60)]
    single = [(key, value) for key, values in VALUES.items() for value in values]
    for node, (key, value) in zip(plain, single, strict=False):
        node[key] = value
    for node in plain[len(single) :]:
        # One consumer has one node.
        node |= {key: choose.choice([values[0], *values]) for key, values in VALUES.items() if key != 'consumer'}
        node['consumer'] = choose.choice([None, None, 'other'])
    for node in plain:
        node['unhealthy'] = node['health'] in UNHEALTHY[unhealthy_from]
    _allocate_another_provider(Client(app))
    return {_create(app, number, node): node for number, node in enumerate(plain)}


def _allocate_another_provider(client):
    """Allocate a provider that is no node."""
    uuid = client.placement('POST', '/resource_providers', {'name': 'virtual'}).json['uuid']
    body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}}
    assert client.placement('PUT', f'/resource_providers/{uuid}/inventories', body).status_int == 200
    allocate(client, instance(998), uuid, 'VCPU')


def _create(app, number, node):
    """Create a node, and return its uuid."""
    client = Client(app)
    uuid = available_of(client, 'gold')
    if node['consumer']:
        node['consumer'] = OWN if node['consumer'] == 'own' else instance(500 + number)
        allocate(client, node['consumer'], uuid, 'CUSTOM_GOLD')
    names = 'provision_state', 'maintenance', 'power_state', 'health'
    values = {name: node[name] for name in names} | {'instance_uuid': node['instance_uuid'] and instance(100 + number)}
    held = {'uuid': instance(300 + number), 'instance_uuid': instance(700 + number), 'node_uuid': uuid}
    expires_at = {'live': None, 'expired': now() - datetime.timedelta(hours=1)}
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(values))
        if node['reservation']:
            row = held | {'expires_at': expires_at[node['reservation']], 'created_at': now()}
            connection.execute(sa.insert(tables.reservations).values(row))
        if node['mismatched']:
            node_id = connection.scalar(sa.select(tables.nodes.c.id).where(tables.nodes.c.uuid == uuid))
            row = {'node_id': node_id, 'rule': 'cpus', 'message': 'too few', 'since': now()}
            connection.execute(sa.insert(tables.node_mismatches).values(row))
    return uuid


def differences(connection, table, plain, holder):
    """Return where the encodings of clauses differ from the plain predicate: {(name of a clause, encoding), …}."""
    found = set()
    for clause in table:
        fulfilling = {uuid for uuid, node in plain.items() if PLAIN[clause.name](node, holder)}
        failing = _select(connection, clause.failed(holder))
        found |= {(clause.name, 'failed')} if failing != plain.keys() - fulfilling else set()
        conditions = {'met': clause.met(holder), 'not failed': ~clause.failed(holder)}
        conditions |= {'met_by_set': clause.met_by_set(holder)} if clause.met_by_set else {}
        for name, condition in conditions.items():
            if _select(connection, condition) != fulfilling:
                found.add((clause.name, name))
        rows = connection.execute(sa.select(*_REFUSING).outerjoin(tables.reservations, eligibility.OF_NODE))
        if {row.node for row in rows if clause.refusal(row, holder) is None} != fulfilling:
            found.add((clause.name, 'refusal'))
        if holder is None:
            # Of reservations, the index has all. A snapshot says which of them have expired.
            is_held = {uuid for uuid, node in plain.items() if node['reservation']}
            expected = plain.keys() - is_held if clause.name == 'reserved' else fulfilling
            rows = connection.execute(node_sets.STATEMENT)
            if {row.uuid for row in rows if not clause.is_failed(row)} != expected:
                found.add((clause.name, 'is_failed'))
    return found


_REFUSING = (tables.nodes.c.uuid.label('node'), *eligibility.STATE)


def _select(connection, condition):
    return set(connection.scalars(sa.select(tables.nodes.c.uuid).where(condition)))


@pytest.mark.parametrize('holder', [None, OWN])
def test_clauses(app, fleet, holder):
    assert [clause.name for clause in eligibility.CLAUSES] == list(PLAIN)
    with app.service.read() as connection:
        assert differences(connection, eligibility.CLAUSES, fleet, holder) == set()


@pytest.mark.parametrize('holder', [None, OWN])
def test_what_is_derived(app, fleet, holder):
    """Refusals, eligible nodes, explanations by SQL and by the index, and the unit in Placement."""
    failing = {
        uuid: [name for name, fulfils in PLAIN.items() if not fulfils(node, holder)] for uuid, node in fleet.items()
    }
    free = {uuid for uuid, names in failing.items() if not names}
    assert free
    with app.service.read() as connection:
        assert _select(connection, eligibility.eligible_for(holder)) == free
        of_state = set(PLAIN) - {'reserved', 'allocated', 'expectation'}
        offered = {uuid for uuid, names in failing.items() if of_state.isdisjoint(names)}
        assert _select(connection, eligibility.OFFERED) == _select(connection, node_providers.SCHEDULABLE) == offered
        rows = connection.execute(sa.select(*_REFUSING).outerjoin(tables.reservations, eligibility.OF_NODE)).all()
    for row in rows:
        refusal = eligibility.refusal(row, holder)
        assert (refusal and refusal['reason']) == next(iter(failing[row.node]), None)
    request = NodeRequest(Grant(()), understand({}))
    context = context_of(app)
    expected = {
        uuid: sorted('expect:cpus' if name == 'expectation' else f'eligible:{name}' for name in names)
        for uuid, names in failing.items()
    }
    rejections = explanations.rejections(context, request, holder)
    assert {uuid: sorted(names) for uuid, names in rejections.items()} == expected
    prepare(app)
    instances = [holder] if holder else []
    for count in (index_explanations.explain, explanations._counted):
        result = count(context, request, instances)
        explanation = result.explanation
        numbers = {tuple(sorted(explanation.names(mask))): number for mask, number in explanation.failing.items()}
        assert {names: number for names, number in numbers.items() if number} == Counter(map(tuple, expected.values()))
    if holder is None:
        placement = Client(app).placement('GET', '/allocation_candidates?resources=CUSTOM_GOLD:1').json
        assert placement['provider_summaries'].keys() == free


@pytest.mark.parametrize('unhealthy_from', ['Warning'])
def test_each_term_counts(app, fleet):
    """A clause of which one encoding, or one term of it, always holds, differs from the plain predicate."""
    with app.service.read() as connection:
        for clause in eligibility.CLAUSES:
            for mutant in _mutants(clause):
                assert any(differences(connection, [mutant], fleet, holder) for holder in (None, OWN)), clause.name


def _mutants(clause):
    """Yield the clause without one term, and with each encoding such that all nodes fulfil it."""
    met = clause.met(None)
    terms = list(met.clauses) if isinstance(met, sa.sql.elements.BooleanClauseList) else []
    for term in terms:
        others = sa.and_(*(each for each in terms if each is not term))
        yield clause._replace(met=lambda _, others=others: others, failed=lambda _, others=others: ~others)
    yield clause._replace(met=lambda _: sa.true())
    yield clause._replace(failed=lambda _: sa.false())
    if clause.met_by_set:
        yield clause._replace(met_by_set=lambda _: sa.true())
    yield clause._replace(is_failed=lambda row: False)
    yield clause._replace(refusal=lambda row, holder: None)


def test_each_clause_has_words():
    names = [clause.name for clause in eligibility.CLAUSES]
    assert all(clauses.reason(name) != name or name in ('reserved', 'allocated') for name in names)
    explained = [f'eligible:{name}' for name in names if name != eligibility.EXPECTATION]
    assert all(clauses.requirement(name) != name.partition(':')[2] for name in explained)


def test_held_nodes(app, fleet):
    """The filter finds each node that has an instance, a live reservation or a consumer. Counts agree."""
    client = Client(app)
    held = {
        uuid
        for uuid, node in fleet.items()
        if node['instance_uuid'] or node['reservation'] == 'live' or node['consumer']
    }
    for value, uuids in (('true', held), ('false', fleet.keys() - held)):
        assert {node['uuid'] for node in client.get(f'/v1/nodes?held={value}&fields=uuid')['nodes']} == uuids
        body = {'flavors': [{'name': 'any', 'held': value == 'true'}]}
        assert client.ask('POST', '/v1/capacity', body).status_int == 400
    [counted] = client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'any', 'required': []}]}).json['flavors']
    assert counted['held'] == len(held)


def test_the_filter_knows_nodes_of_unknown_power(app):
    """NULL is neither equal to a value nor different from it: each node is in one of the two lists all the same."""
    client = Client(app)
    known, unknown = (available(client, name=name) for name in ('known', 'unknown'))
    with app.service.write() as connection:
        columns = tables.nodes.c
        connection.execute(sa.update(tables.nodes).values(power_state='power off').where(columns.uuid == known))
        connection.execute(sa.update(tables.nodes).values(power_state=None).where(columns.uuid == unknown))
    for is_eligible, uuid in ((True, known), (False, unknown)):
        nodes = client.get(f'/v1/nodes?eligible={is_eligible}&fields=uuid')['nodes']
        assert [node['uuid'] for node in nodes] == [uuid]
