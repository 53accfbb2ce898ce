"""The results of the inspection hooks, compared with those of Ironic 39.0.0 for the same data.

``tests/data/ironic-inspection-hooks.json`` has the data, and Ironic's results for values of [inspector] add_ports and
keep_ports, with all hooks that this service has.
"""

import json
import pathlib

import pytest

from tests.conftest import empty
from tests.support.client import Client
from tests.support.inspections import PATH, inspect
from tests.support.service import finish_work, make_app, upgraded
from tests.support.transitions import ask

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / 'data' / 'ironic-inspection-hooks.json').read_text())
HOOKS = [
    *('ramdisk-error', 'validate-interfaces', 'ports', 'architecture', 'memory', 'cpus', 'root-device', 'boot-mode'),
    'cpu-capabilities',
]


@pytest.fixture(scope='module')
def url(tmp_path_factory):
    """The URL of a database. The hooks have no SQL, so one kind of database is enough."""
    return upgraded(f'sqlite:///{tmp_path_factory.mktemp("hooks")}/hooks.sqlite')


@pytest.mark.parametrize('name', RECORDED['ironic'])
def test_same_data_as_ironic(url, name):
    empty(url)
    add_ports, keep_ports = name.split('-')
    options = {'hooks': HOOKS, 'add_ports': add_ports, 'keep_ports': keep_ports}
    expected = iter(RECORDED['ironic'][name])
    with make_app(url, **{f'inspection__{key}': value for key, value in options.items()}) as app:
        client = Client(app)
        for case in RECORDED['cases']:
            uuid = client.node(inspect_interface='agent', properties=case['properties'])['uuid']
            ask(client, uuid, 'manage')
            finish_work(app)
            for data in case['data']:
                inspect(app, client, uuid)
                assert client.ask('POST', f'{PATH}?node_uuid={uuid}', data).status_int == 202
                finish_work(app)
                recorded = next(expected)
                if recorded['state'] == 'inspect failed':
                    recorded = unchanged(recorded, case, uuid)
                if not data['inventory']['boot']['pxe_interface']:
                    # In Ironic, a node whose boot interface is not known cannot boot from the network any more.
                    recorded['ports'] = [port | {'pxe_enabled': True} for port in recorded['ports']]
                assert outcome(client, uuid, recorded) == recorded


def unchanged(recorded, case, uuid):
    """Return a recorded failure, changed to that of this service: the node and its ports stay as they were."""
    reason = recorded['error'].partition('hooks: ')[2].partition(' Error: ')[0]
    reason = reason.replace(reason.partition('for node ')[2][:36], uuid)
    return recorded | {'error': reason, 'properties': case['properties'], 'ports': []}


def outcome(client, uuid, recorded):
    """Return the resulting node, in the form of the records."""
    node = client.get(f'/v1/nodes/{uuid}')
    rows = client.get(f'/v1/nodes/{uuid}/ports?fields=address,pxe_enabled,extra&sort_key=address')['ports']
    reason = node['last_error']
    plugin_data = client.get(f'/v1/nodes/{uuid}/inventory')['plugin_data']
    return {
        'state': node['provision_state'],
        'error': reason and reason.partition('inspection: ')[2].partition(' Error: ')[0],
        'properties': node['properties'],
        'ports': rows,
        'plugin': {key: plugin_data[key] for key in recorded['plugin']},
    }
