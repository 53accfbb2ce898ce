"""Imports in batches have the same results and messages as single requests."""

import contextlib
import re
import subprocess

import hypothesis
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.client import Failed
from ironic_traits.cmd.importing import local
from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.db.one_transaction import OneTransaction
from ironic_traits.transfer import documents, exports, imports
from tests.support.inventory_files import MANAGE, manage
from tests.support.service import make_app, make_conf, upgraded

CHASSIS = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a002'
UUIDS = [f'a8b2c1c0-0000-4000-8000-00000000000{number}' for number in range(3)]
ADDRESSES = [f'52:54:00:00:00:0{number}' for number in range(4)]


def item(required, **optional):
    """Draw dicts that have these keys and some of the optional ones."""
    return st.fixed_dictionaries(required, optional=optional)


PORT = item(
    {'address': st.sampled_from([*ADDRESSES, ADDRESSES[0].upper(), 'none'])},
    uuid=st.sampled_from(UUIDS),
    pxe_enabled=st.booleans() | st.none(),
    physical_network=st.sampled_from(['one', 'two']),
)
GROUP = item(
    {},
    uuid=st.sampled_from(UUIDS),
    name=st.sampled_from(['bond0', 'bond1', 'no bond']),
    standalone_ports_supported=st.booleans(),
    ports=st.lists(PORT, max_size=2),
)
NODE = item(
    {'name': st.sampled_from(['one', 'two', 'three', 'four', 'detail', 'no name'])},
    uuid=st.sampled_from([*UUIDS, UUIDS[0].upper()]),
    driver=st.sampled_from(['fake-hardware'] * 5 + ['none', None]),
    resource_class=st.sampled_from(['gold', 'Gold!', 'silver', '', None]),
    chassis_uuid=st.sampled_from([CHASSIS, UUIDS[0]]),
    instance_uuid=st.sampled_from(UUIDS),
    provision_state=st.sampled_from(['enroll', 'available', 'active', 'rescue', 'manageable']),
    power_state=st.sampled_from(['power on', 'error', None]),
    retired=st.booleans(),
    protected=st.booleans() | st.just('true'),
    protected_reason=st.just('mine'),
    maintenance=st.booleans() | st.just('yes'),
    maintenance_reason=st.sampled_from(['fan', 5, None]),
    extra=st.sampled_from([{}, {'a': '\0'}, {'a': 1.5}, [], None]),
    traits=st.lists(st.sampled_from(['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX', 'CUSTOM_A', 'none']), max_size=4),
    trait_sources=st.dictionaries(
        st.sampled_from(['operator', 'cmdb', 'hook', 'rule:cpu']),
        st.lists(st.sampled_from(['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_A']), max_size=2),
    ),
    ports=st.lists(PORT, max_size=2),
    portgroups=st.lists(GROUP, max_size=2),
    volume_connectors=st.lists(item({'type': st.just('iqn'), 'connector_id': st.sampled_from(['a', 'b'])}), max_size=2),
    volume_targets=st.lists(
        item({'volume_type': st.just('iscsi'), 'volume_id': st.just('disk'), 'boot_index': st.integers(0, 1)}),
        max_size=2,
    ),
)


def with_traits_of_sources(node):
    """Return a node whose traits include those of its sources. Otherwise the document is invalid."""
    traits = [trait for traits in node.get('trait_sources', {}).values() for trait in traits]
    return node | {'traits': [*node.get('traits', ()), *traits]} if traits else node


# Names and uuids are unique. Otherwise the document is invalid.
NODES = st.lists(
    NODE.map(with_traits_of_sources),
    max_size=6,
    unique_by=(lambda node: node['name'], lambda node: node.get('uuid', node['name']).lower()),
)
DOCUMENT = st.fixed_dictionaries({'chassis': st.just([{'uuid': CHASSIS}]), 'nodes': NODES})


class Undone(Exception):
    """Rolls the transaction back."""


def one_by_one(client, together, some, source):
    """Import units with single requests."""
    refused = []
    for noun, each in some:
        try:
            with together.write():
                imports.Importer(client, client.settle, source).import_unit(noun, each)
        except Failed as error:
            refused.append(f'{documents.ident(each)}: {error}')
    return refused


def in_batches(client, together, some, source):
    """Import units in batches, like the command."""
    importer = local.LocalImporter(client, together, lambda count: None, source)
    importer.import_units(some)
    return importer.refused


def outcome(app, database, bring, source, *documents):
    """Import into an empty database. Return the inventory and the messages, without values that differ in each run."""
    with contextlib.suppress(Undone), database.write() as connection:
        together = OneTransaction(connection)
        client = local.LocalClient(app, app.service, together)
        refused = [bring(client, together, each, source) for each in documents]
        exported = exports.export(client).document
        columns = (
            tables.nodes.c.name,
            tables.resource_classes.c.name,
            tables.resource_providers.c.uuid == tables.nodes.c.uuid,
        )
        provider = sa.join(
            tables.nodes, tables.resource_providers, tables.resource_providers.c.node_id == tables.nodes.c.id
        )
        statement = (
            sa.select(*columns).select_from(provider.join(tables.resource_classes)).order_by(tables.nodes.c.name)
        )
        providers = [tuple(row) for row in connection.execute(statement)]
        raise Undone
    exported.get('nodes', []).sort(key=lambda node: node['name'])
    text = re.sub(r'[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f-]{16}', masked, repr((refused, exported)))
    return text, providers


def masked(match):
    """Return a uuid of the document, or a mark for one that the service generated."""
    return match[0] if match[0] in (*UUIDS, CHASSIS) else 'uuid'


def test_batches_equal_requests(database_url):
    """Batches and single requests give the same inventory and messages, also for a second document after the first."""
    database = Database(make_conf(database_url))
    with make_app(database_url) as app:
        app.service.enforcer = local.Everything()

        @hypothesis.settings(max_examples=60, derandomize=True)
        @hypothesis.given(DOCUMENT, DOCUMENT, st.sampled_from([None, None, 'cmdb', 'operator']))
        def check(first, second, source):
            both = documents.units(first), documents.units(second)
            ways = [outcome(app, database, bring, source, *both) for bring in (one_by_one, in_batches)]
            assert ways[0] == ways[1]

        check()
    database.close()


def test_one_invalid_node_among_many(database_url, client, file):
    rack = [
        {'name': f'node{n}', 'driver': 'fake-hardware', 'ports': [{'address': f'52:54:00:00:{n:02x}:00'}]}
        for n in range(100)
    ]
    rack[70]['ports'][0]['address'] = '52:54:00:00:05:00'
    rack[30]['traits'] = ['HW_NOWHERE']
    errors = manage(database_url, 'import', '--continue', file({'nodes': rack}), code=1)
    assert 'node70: A port with MAC address 52:54:00:00:05:00 already exists' in errors
    assert errors.endswith('2 of 100 nodes and chassis cannot be imported.\n')
    assert len(client.get('/v1/nodes')['nodes']) == 98
    errors = manage(database_url, 'import', file({'nodes': rack}), code=1)
    assert errors.endswith('Nothing was imported: 2 of 100 nodes and chassis cannot be imported.\n')


def test_existing_provider_is_adopted(database_url, client, file):
    """An import adopts a provider that nova has created before."""
    response = client.placement('POST', '/resource_providers', {'uuid': UUIDS[0], 'name': UUIDS[0]})
    assert response.status_int == 200
    node = {'uuid': UUIDS[0], 'driver': 'fake-hardware', 'resource_class': 'gold', 'traits': ['CUSTOM_A']}
    manage(database_url, 'import', file({'nodes': [node, {'name': 'other', 'driver': 'fake-hardware'}]}))
    inventories = client.placement('GET', f'/resource_providers/{UUIDS[0]}/inventories').json['inventories']
    assert list(inventories) == ['CUSTOM_GOLD']


def test_warning_about_a_long_lock(tmp_path, file):
    """Only SQLite's writers block each other. With --continue, each node has its own transaction."""
    url = f'sqlite:///{tmp_path}/new.sqlite'
    upgraded(url)
    rack = file({'nodes': [{'name': f'node{number}', 'driver': 'fake-hardware'} for number in range(1500)]})
    command = [MANAGE, '--database', url, 'inventory', 'import', '--dry-run', rack]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr.startswith('The import locks the SQLite database for about 2 s')) == (0, True)
    assert '--continue' in done.stderr
