"""Runs of inspection rules with concurrent writers, and with a service that is killed."""

import concurrent.futures
import http.client
import os
import signal
import subprocess
import time

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.inspection import rule_applications
from tests.support import http_client
from tests.support.client import Client
from tests.support.concurrency import at_once
from tests.support.providers import golden
from tests.support.rule_runs import (
    add,
    data,
    expect,
    has_flag,
    insert_data,
    rule,
    run,
    sources,
    store_data,
    store_rules,
)
from tests.support.service import ForkedServer, make_app
from tests.support.trait_edits import insert_nodes

PREVIEW, APPLY = '/v1/inspection_rules/preview', '/v1/inspection_rules/apply'
#: Parts of the inventory without standard traits.
OTHERS = {'disks': None, 'memory': None}


def apply_all(client):
    """Run the rules over all nodes. If the preview is outdated, request a new one."""
    digest = client.ask('POST', PREVIEW, {'where': {}}).json['digest']
    while True:
        response = client.ask('POST', APPLY, {'where': {}, 'digest': digest})
        if response.status_int != 409:
            assert response.status_int == 200, response.text
            return response.json
        digest = response.json['digest']


def test_eight_writers_at_once(app, clients):
    """With operators, sources, new data and runs over all nodes, each rule holds its traits for the last data."""
    names = [f'node-{number}' for number in range(4)]
    uuids = [golden(clients[0], name=name) for name in names]
    store_rules(app, *(add(flag, f'CUSTOM_{flag.upper()}', conditions=has_flag(flag)) for flag in ('x1', 'x2', 'x3')))
    for uuid in uuids:
        store_data(app, uuid, data(cpu={'flags': ['x1']}, **OTHERS))

    def work(client, number):
        uuid = uuids[number % 4]
        for step in range(3):
            kind = (number + step) % 4
            if kind == 0:
                apply_all(client)
            elif kind == 1:
                flags = {'flags': [f'x{1 + step % 3}', 'x2']}
                response = client.ask('PUT', f'/v1/nodes/{uuid}/inventory', data(cpu=flags, **OTHERS))
                assert response.status_int == 200, response.text
            elif kind == 2:
                assert client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_MINE_{number}').status_int == 204
            else:
                traits = {'traits': ['CUSTOM_HOOK', 'CUSTOM_X2']}
                assert client.ask('PUT', f'/v1/nodes/{uuid}/traits?source=hook-{number}', traits).status_int == 200

    at_once(clients[:8], work)
    for uuid in uuids:
        shown = sources(clients[0], uuid)
        flags = clients[0].get(f'/v1/nodes/{uuid}/inventory')['inventory']['cpu']['flags']
        of_rules = {trait for trait, held in shown.items() if any(each.startswith('rule:') for each in held)}
        assert of_rules == {f'CUSTOM_{flag.upper()}' for flag in flags}
        entries = clients[0].get(f'/v1/nodes/{uuid}/history?detail=true')['history']
        assert len({entry['uuid'] for entry in entries}) == len(entries)
    assert apply_all(clients[0])['changed'] == 0


def test_expectations_and_reservations_at_once(app, clients):
    """At most one client reserves the node, and one run records the mismatch, in any order."""
    uuid = golden(clients[0])

    def work(client, number):
        if number % 2:
            return run(app, uuid, data(cpu={'count': 8}), [expect('cpus', 16)]).is_changing
        body = {'instance_uuid': f'aaaaaaaa-0000-4000-8000-{number:012}', 'node_uuid': uuid}
        return client.ask('POST', '/v1/reservations', body).status_int

    results = at_once(clients[:8], work)
    assert sum(result is True for result in results) == 1
    assert set(results[::2]) <= {201, 409}
    assert results.count(201) <= 1
    assert clients[0].get(f'/v1/nodes/{uuid}/validate')['inspect']['result'] is False


def test_kill_leaves_whole_batches(shared_database_url, database_url, tmp_path):
    """A kill during a run over many nodes leaves whole batches. Sending the request again completes the run."""
    with make_app(database_url) as app:
        client = Client(app)
        insert_nodes(app.service, NODES)
        insert_data(app.service, data(**OTHERS))
        store_rules(app, rule('both', ('add-traits', {'names': ['CUSTOM_A', 'CUSTOM_B']})), expect('cpus', 16))
        body = {'where': {}, 'digest': client.ask('POST', PREVIEW, {'where': {}, 'limit': 1}).json['digest']}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            server = ForkedServer(database_url, '--nostart-worker', cwd=tmp_path).wait()
            answer = pool.submit(_ask, server.base, body)
            _wait_until(lambda: _has_begun(app))
            children = subprocess.run(['pgrep', '-P', str(server.process.pid)], capture_output=True, text=True)
            for pid in [server.process.pid, *map(int, children.stdout.split())]:
                os.kill(pid, signal.SIGKILL)
            server.process.wait()
            assert isinstance(answer.exception(), OSError | http.client.HTTPException)
        done = _state(app)
        assert 0 < len(done) < NODES
        assert len(done) % rule_applications.BATCH == 0
        assert set(done.values()) == {WHOLE}
        rest = client.ask('POST', APPLY, body).json
        assert (rest['applied'], rest['changed'], rest['next']) == (NODES, NODES - len(done), None)
        assert list(_state(app).values()) == [WHOLE] * NODES


NODES = 1000
#: The state of a node after a run: traits of the rule, mismatches, and history entries of both.
WHOLE = (3, 1, 2)


def _ask(base, body):
    return http_client.ask(base, 'POST', APPLY, body, {'X-OpenStack-Ironic-API-Version': '1.96'})


def _wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def _has_begun(app):
    """Whether the run has committed its first batch. ``_state`` is too slow for this: the run might end first."""
    with app.service.read() as connection:
        return connection.scalar(sa.select(tables.node_mismatches.c.node_id).limit(1)) is not None


def _state(app):
    """Return the nodes that the run has changed so far: {node id: (traits, mismatches, entries)}."""
    nodes, of_node = tables.nodes.c, {'traits': tables.node_traits, 'mismatches': tables.node_mismatches}
    ours = tables.node_traits.c.trait.in_(['CUSTOM_A', 'CUSTOM_B', 'HW_ARCH_X86_64'])
    counts = [
        sa.select(sa.func.count()).where(table.c.node_id == nodes.id, *([ours] if name == 'traits' else []))
        for name, table in of_node.items()
    ]
    counts.append(sa.select(sa.func.count()).where(tables.node_history.c.node_uuid == nodes.uuid))
    statement = sa.select(nodes.id, *(count.correlate(tables.nodes).scalar_subquery() for count in counts))
    with app.service.read() as connection:
        return {row[0]: tuple(row[1:]) for row in connection.execute(statement) if any(row[1:])}
