"""Reports of imports: all problems of a document, and all changes of a dry run."""

import json

from tests.support.inventory_files import manage

WRONG = """\
nodes:
- name: one
  drivre: fake-hardware
  ports:
  - address: 52:54:00:00:00:01
    pxe_enable: true
- name: two
  ressource_class: gold
  provision_state: deploying
"""


def test_all_problems_of_a_document(database_url, client, file):
    """Each problem has its line, node and key, in YAML and in JSON."""
    path = file(WRONG)
    errors = manage(database_url, 'import', path, code=1)
    assert errors.splitlines() == [
        f"{path}, line 3: nodes[0].drivre (one): 'drivre' is not a field of a node. Did you mean 'driver'?",
        f"{path}, line 6: nodes[0].ports[0].pxe_enable (one): 'pxe_enable' is not a field of a port. "
        "Did you mean 'pxe_enabled'?",
        f"{path}, line 8: nodes[1].ressource_class (two): 'ressource_class' is not a field of a node. "
        "Did you mean 'resource_class'?",
        f"{path}, line 9: nodes[1].provision_state (two): 'deploying' is not a state that a node can be "
        'imported in; it must be a stable state.',
        f'Nothing was imported: {path} has 4 errors.',
    ]
    path = file(json.dumps({'nodes': [{'name': 'one', 'dirver': 'x'}, {'name': 'one'}]}, indent='\t'))
    errors = manage(database_url, 'import', path, code=1)
    assert f"{path}, line 5: nodes[0].dirver (one): 'dirver' is not a field" in errors
    assert f'{path}, line 7: nodes[1] (one): is in the document twice.' in errors


NODE = {'name': 'one', 'driver': 'fake-hardware', 'traits': ['CUSTOM_A', 'CUSTOM_B'], 'extra': {'a': 1}}
PORT = {'address': '52:54:00:00:00:01'}


def test_a_dry_run_shows_each_difference(database_url, client, file):
    """A dry run shows each difference, with masked secrets."""
    secret = {'redfish_password': 'hush-hush', 'redfish_address': 'https://a'}
    first = NODE | {'driver_info': secret, 'provision_state': 'active', 'ports': [PORT]}
    new = {'name': 'new', 'driver': 'fake-hardware', 'ports': [{'address': '52:54:00:00:00:03'}]}
    output = manage(database_url, 'import', '--dry-run', file({'nodes': [first]}))
    assert output.startswith('+ node one\n+ port 52:54:00:00:00:01 of node one\n')
    manage(database_url, 'import', file({'nodes': [first]}))
    second = NODE | {
        'description': 'new',
        'traits': ['CUSTOM_B', 'CUSTOM_C'],
        'extra': {'a': 2, 'b': None},
        'driver_info': secret | {'redfish_password': 'shush'},
        'ports': [PORT | {'pxe_enabled': False}, {'address': '52:54:00:00:00:02'}],
        'maintenance': True,
        'maintenance_reason': 'fan',
    }
    output = manage(database_url, 'import', '--dry-run', file({'nodes': [second, new]}))
    assert sorted(output.splitlines()[:-5]) == sorted(
        [
            '~ node one: description: null → "new"',
            '~ node one: driver_info.redfish_password: "******" → "******"',
            '~ node one: extra.a: 1 → 2',
            '~ node one: extra.b: nothing → null',
            '~ node one: maintenance: false → true',
            '~ node one: maintenance_reason: null → "fan"',
            '~ node one: + trait CUSTOM_C',
            '~ node one: - trait CUSTOM_A',
            '~ port 52:54:00:00:00:01 of node one: pxe_enabled: true → false',
            '+ port 52:54:00:00:00:02 of node one',
            '+ node new',
            '+ port 52:54:00:00:00:03 of node new',
        ]
    )
    assert 'hush' not in output
    assert client.get('/v1/nodes/one')['description'] is None


def test_an_ignored_state_is_warned_about(database_url, client, file):
    manage(database_url, 'import', file({'nodes': [NODE | {'provision_state': 'active'}]}))
    path = file({'nodes': [NODE | {'provision_state': 'available'}, {'name': 'x', 'driver': 'none'}]})
    errors = manage(database_url, 'import', '--continue', path, code=1)
    assert "node one stays in 'active': the document's provision_state 'available' is for new nodes only." in errors
    path = file({'nodes': [NODE | {'provision_state': 'active'}, {'name': 'x', 'driver': 'none'}]})
    assert 'stays' not in manage(database_url, 'import', '--continue', path, code=1)
