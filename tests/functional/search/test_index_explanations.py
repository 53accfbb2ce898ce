"""Explanations of matches from the index of nodes equal those of the SQL statement."""

import random

import hypothesis
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits import clauses
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core.mirror_exclusions import Exclusions
from ironic_traits.inventory.search import clause_statements, explanations, index_explanations, node_index, node_sets
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching.requests import understand
from tests.conftest import empty
from tests.functional.search.test_matches import NODE, fill, requests
from tests.support.reservations import available, instance
from tests.support.service import make_app


def context_of(app, **ids):
    return Context(app.service, BARE_METAL, 82, '', **ids)


def prepare(app):
    """Read the nodes into the index of an application."""
    with app.service.node_index.now(app.service):
        pass


def explained(result):
    """Return the content of a Result, in a form that can be compared."""
    explanation = result.explanation
    failing = {frozenset(explanation.names(mask)): number for mask, number in explanation.failing.items() if number}
    misses = [(miss.uuid, miss.name, frozenset(explanation.names(miss.mask))) for miss in result.misses]
    # Ties are broken by the order of the clauses, which differs for rules only.
    return explanation.clauses, failing, sorted(misses)


def compare(app, node_request, instances=(), **ids):
    """Compare both explanations of a request."""
    context = context_of(app, **ids)
    result = index_explanations.explain(context, node_request, instances)
    assert result is not None
    assert explained(result) == explained(explanations._counted(context, node_request, instances))


def change(app, inventory, choose):
    """Make some nodes children, mirrored or mismatched, and rewrite the index."""
    with app.service.write() as connection:
        for node in inventory:
            values = {'parent_node': choose.choice([None, None, instance(0)]), 'origin': choose.choice([None, 'cloud'])}
            of_node = tables.nodes.c.uuid == node.uuid
            connection.execute(sa.update(tables.nodes).where(of_node).values(values))
            node_id = connection.scalar(sa.select(tables.nodes.c.id).where(of_node))
            rows = [
                {'node_id': node_id, 'rule': f'rule-{number}', 'message': 'no', 'since': now()}
                for number in choose.sample(range(4), choose.choice([0, 0, 1, 2]))
            ]
            if rows:
                connection.execute(sa.insert(tables.node_mismatches), rows)
    # These writes leave no rows in the log of changes.
    app.service.node_index._forget()
    prepare(app)


def test_both_explanations_are_the_same(database_url, monkeypatch):
    """Both explanations are equal on random inventories with children, mirrored nodes, mismatches and an allocation."""
    for module in (clause_statements, index_explanations):
        monkeypatch.setattr(module, 'MAX_RULES', 2)
    with make_app(database_url) as app:

        @hypothesis.settings(max_examples=25, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(
            st.lists(NODE, max_size=8), st.lists(requests(), min_size=4, max_size=4), st.integers(0, 1000)
        )
        def on_random_inventories(inventory, documents, seed):
            empty(database_url)
            fill(app, inventory)
            choose = random.Random(seed)
            change(app, inventory, choose)
            for document, project in documents:
                node_request = NodeRequest(
                    Grant(('baremetal:node:list',) if project else ()),
                    understand(**document),
                    choose.choice([{}, {'include_children': True}, {'include_children': False}]),
                    excluded=choose.choice([None, Exclusions(clouds={'cloud': 'It is read-only.'}), Exclusions()]),
                )
                compare(app, node_request, choose.choice([(), (instance(0),), (instance(1),)]), project_id=project)

        on_random_inventories()


def test_an_explanation_is_never_stale(client, app, monkeypatch):
    """The next explanation has each write, and needs no statement over all nodes."""
    monkeypatch.setattr(explanations, '_counted', None)
    uuids = [available(client) for _ in range(3)]
    prepare(app)

    def matched():
        response = client.ask('POST', '/v1/matches', {'required': ['CUSTOM_A'], 'explain': True})
        assert response.status_int == 200, response.text
        return response.json['explanation']['matched']

    client.placement('PUT', '/traits/CUSTOM_A')
    assert matched() == 0
    for number, uuid in enumerate(uuids, 1):
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
        assert matched() == number
    client.ask('PUT', f'/v1/nodes/{uuids[0]}/maintenance', {})
    assert matched() == 2
    client.ask('DELETE', f'/v1/nodes/{uuids[1]}')
    assert matched() == 1


def test_the_command_describes_every_condition(app):
    """The command describes the clauses of all eligibility conditions, of both explanations."""
    prepare(app)
    node_request = NodeRequest(Grant(()), excluded=Exclusions())
    for explain in (index_explanations.explain, explanations._counted):
        names = explain(context_of(app), node_request, ()).explanation.clauses
        reasons = {name.removeprefix('eligible:') for name in names}
        # Only services with [matching] exclude_unhealthy have the other one.
        assert reasons == clauses._ELIGIBLE.keys() - {'health'}
    assert clauses.requirement('eligible:cloud') == 'can be held in its cloud'
    assert clauses._REASONS.keys() == {*node_sets.REASONS, 'cloud', 'rejected'}


def test_filters_and_lists_need_the_statement(app, client):
    uuid = available(client)
    prepare(app)
    for node_request in (
        NodeRequest(Grant(()), filters={'owner': 'alpha'}),
        NodeRequest(Grant(()), filters={'parent_node': uuid}),
        NodeRequest(Grant(()), idents=(uuid,)),
    ):
        assert index_explanations.explain(context_of(app), node_request, ()) is None


def test_the_index_is_made_in_the_background(app, client, monkeypatch):
    """The index is built after a request that needed it, and rebuilt after many changes."""
    monkeypatch.setattr(node_index, 'MIN_NODES', 2)
    node_request, context = NodeRequest(Grant(())), context_of(app)
    available(client)
    explanations.explain(context, node_request)
    assert app.service.node_index._thread is None
    available(client)
    assert explanations.explain(context, node_request)['considered'] == 2
    app.service.node_index.wait()
    assert index_explanations.explain(context, node_request, ()).explanation.considered == 2
    # A request without a topology makes no groups, which each write would have to update.
    assert not app.service.node_index._nodes._groups
    # There are more changes than one statement reads.
    monkeypatch.setattr(node_index, '_BATCH', 10)
    for _ in range(11):
        available(client)
    assert index_explanations.explain(context, node_request, ()) is None
    assert explanations.explain(context, node_request)['considered'] == 13
    app.service.node_index.wait()
    assert index_explanations.explain(context, node_request, ()).explanation.considered == 13


def test_a_failed_preparation_is_tried_again(app, client, monkeypatch, caplog):
    available(client)
    index = app.service.node_index
    with monkeypatch.context() as patch:
        patch.setattr(node_index, '_all', lambda connection: 1 / 0)
        index.prepare(app.service)
        app.service.node_index.wait()
    assert 'could not be read' in caplog.text
    index.prepare(app.service)
    app.service.node_index.wait()
    assert index_explanations.explain(context_of(app), NodeRequest(Grant(())), ()) is not None


def test_a_process_that_ends_reads_no_more_nodes(app, client):
    available(client)
    app.service.node_index.close()
    app.service.node_index.prepare(app.service)
    assert app.service.node_index._thread is None


def test_nothing_to_count(app, client):
    """The explanations are equal without nodes, for a class without nodes, and for a caller who may see no node."""
    prepare(app)
    compare(app, NodeRequest(Grant(())))
    available(client)
    compare(app, NodeRequest(Grant(()), understand(resource_class='CUSTOM_UNKNOWN')))
    compare(app, NodeRequest(Grant(('baremetal:node:list',))), project_id='stranger')
