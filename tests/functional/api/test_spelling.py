"""Messages about unknown names ask for the name that was meant."""

import pytest

from ironic_traits import spelling
from tests.support.client import message

NODE = '/v1/nodes/11111111-2222-4333-8444-555555555555'
STEP = {'interface': 'deploy', 'step': 'a'}
#: (method, path, body, what was meant).
REQUESTS = [
    # Filters and other parameters of queries.
    ('GET', '/v1/nodes?resource-class=gold', None, 'resource_class'),
    ('GET', '/v1/nodes?trait=CUSTOM_A', None, 'traits'),
    ('GET', '/v1/nodes?not_traits=CUSTOM_A', None, 'not-traits'),
    ('GET', '/v1/nodes?state=active', None, 'provision_state'),
    ('GET', '/v1/ports?adress=52:54:00:00:00:01', None, 'address'),
    ('GET', '/v1/drivers?detial=true', None, 'detail'),
    ('GET', '/v1/reservations?instance=x', None, 'instance_uuid'),
    ('GET', '/v1/history?sinse=1', None, 'since'),
    ('GET', '/v1/facets?buy=traits', None, 'by'),
    ('GET', '/openapi.json?vesion=1.1', None, 'version'),
    # Names of fields.
    ('GET', '/v1/nodes?fields=uuid,resource_clas', None, 'resource_class'),
    ('GET', f'{NODE}?fields=trait', None, 'traits'),
    ('GET', '/v1/ports?fields=adress', None, 'address'),
    ('GET', '/v1/reservations?fields=expires', None, 'expires_at'),
    ('GET', '/v1/conductors?fields=host', None, 'hostname'),
    ('GET', '/v1/drivers?fields=hots', None, 'hosts'),
    ('GET', '/v1/nodes?without=ownr', None, 'owner'),
    ('GET', '/v1/facets?by=resource_clas', None, 'resource_class'),
    ('GET', '/v1/nodes?sort_key=nmae', None, 'name'),
    ('GET', '/v1/ports?sort_key=adress', None, 'address'),
    ('GET', '/v1/runbooks?sort_key=nam', None, 'name'),
    ('GET', '/v1/conductors?sort_key=host', None, 'hostname'),
    # States.
    ('GET', '/v1/nodes?provision_state=avialable', None, 'available'),
    ('PUT', f'{NODE}/states/provision', {'target': 'activate'}, 'active'),
    ('PUT', f'{NODE}/states/provision', {'target': 'manageable'}, 'manage'),
    ('PUT', f'{NODE}/states/power', {'target': 'poweroff'}, 'power off'),
    # Keys of bodies, and of objects in them.
    ('POST', '/v1/nodes', {'drivr': 'fake-hardware'}, 'driver'),
    ('PUT', f'{NODE}/traits', {'trait': []}, 'traits'),
    ('PUT', f'{NODE}/states/provision', {'target': 'deploy', 'config_drive': {}}, 'configdrive'),
    ('PUT', f'{NODE}/states/provision', {'target': 'active', 'configdrive': {'metadata': {}}}, 'meta_data'),
    ('PUT', f'{NODE}/states/provision', {'target': 'clean', 'clean_steps': [{**STEP, 'arg': {}}]}, 'args'),
    ('PATCH', NODE, [{'op': 'add', 'pth': '/name', 'value': 'a'}], 'path'),
    ('PATCH', NODE, [{'op': 'add', 'path': '/resource-class', 'value': 'a'}], 'resource_class'),
    ('POST', '/v1/ports', {'adress': '52:54:00:00:00:01'}, 'address'),
    ('POST', '/v1/matches', {'requird': []}, 'required'),
    ('POST', '/v1/reservations', {'instance': NODE[10:]}, 'instance_uuid'),
    ('POST', '/v1/traits/edits', {'where': {'resourceclass': 'a'}, 'add': ['CUSTOM_A']}, 'resource_class'),
    ('POST', '/v1/nodes/actions', {'acton': 'manage', 'where': {}}, 'action'),
    ('POST', '/v1/capacity', {'flavors': [{'name': 'a', 'extraspecs': {}}]}, 'extra_specs'),
    ('POST', '/v1/deploy_templates', {'name': 'CUSTOM_A', 'steps': [{**STEP, 'priority': 1, 'arg': {}}]}, 'args'),
    # Inspection rules.
    ('POST', '/v1/inspection_rules', {'action': []}, 'actions'),
    ('POST', '/v1/inspection_rules', {'actions': [{'op': 'add-trat', 'args': {}}]}, 'add-trait'),
    ('POST', '/v1/inspection_rules', {'actions': [{'op': 'add-trait', 'args': {'nam': 'CUSTOM_A'}}]}, 'name'),
    ('POST', '/v1/inspection_rules', {'actions': [{'op': 'fail', 'args': {'msg': 'a'}, 'lop': []}]}, 'loop'),
]


@pytest.fixture
def node(client):
    client.node(uuid=NODE[10:], name='one')


@pytest.mark.parametrize(('method', 'path', 'body', 'meant'), REQUESTS)
def test_unknown_names(node, client, method, path, body, meant):
    response = client.ask(method, path, body)
    assert response.status_int == 400
    assert f"Did you mean '{meant}'?" in message(response)


@pytest.mark.parametrize(
    ('method', 'path', 'body'),
    [
        ('GET', '/v1/nodes?qqq=1', None),
        ('GET', '/v1/nodes?fields=qqq', None),
        ('GET', '/v1/nodes?sort_key=extra', None),
        ('PUT', f'{NODE}/states/provision', {'target': 'qqq'}),
        # There is such a verb, and it is not for this state.
        ('PUT', f'{NODE}/states/provision', {'target': 'rebuild'}),
        ('POST', '/v1/nodes', {'qqq': 1}),
    ],
)
def test_nothing_is_similar(node, client, method, path, body):
    response = client.ask(method, path, body)
    assert response.status_int == 400
    assert 'Did you mean' not in message(response)


def test_several_names(client):
    response = client.ask('GET', '/v1/nodes?ownr=a&lesse=b&' + '&'.join(f'x{number}=' for number in range(1000)))
    assert message(response).startswith('Unexpected arguments: lesse, ownr, x0, x1,')
    assert spelling.hint(['lesse', 'ownr', 'qqq'], ['owner', 'lessee']) == " Did you mean 'lessee', 'owner'?"
