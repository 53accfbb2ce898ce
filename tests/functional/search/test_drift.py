"""Drift between flavors, images and nodes; and the metrics of flavors."""

import pytest
from oslo_config import cfg
from webob import Request

from ironic_traits.api.layers.metrics import MAX_FLAVORS
from tests.functional.server.test_metrics import read
from tests.support.client import Client
from tests.support.reservations import available_of, reserve
from tests.support.service import make_app

NOTHING = {'unsatisfied': [], 'unused_traits': [], 'unreached': 0, 'unreached_nodes': []}


def drift(client, flavors, images=()):
    """Request the drift of flavors and images, {name: extra specs or properties}, and return the response."""
    body = {
        'flavors': [{'name': name, 'extra_specs': specs} for name, specs in flavors.items()],
        'images': [{'name': name, 'properties': values} for name, values in dict(images).items()],
    }
    response = client.ask('POST', '/v1/drift', body)
    assert response.status_int == 200, response.text
    return response.json


def test_everything_fits(client):
    uuid = available_of(client, 'gold')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']})
    gold = {'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_A': 'required'}
    found = drift(client, {'gold': gold}, {'image': {'trait:CUSTOM_B': 'required'}})
    assert found == NOTHING | {'retired_traits': [], 'absent_image_traits': [], 'warnings': []}


def test_nothing_fits(client):
    uuids = [available_of(client, name) for name in ('gold', 'gold', 'silver')]
    for uuid, traits in zip(uuids, (['CUSTOM_A'], ['CUSTOM_OLD'], ['CUSTOM_A', 'CUSTOM_B']), strict=True):
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': traits})
    client.ask('PUT', '/v1/traits/CUSTOM_OLD', {'retired': True})
    flavors = {
        'fits': {'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_A': 'required'},
        'lacks': {'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_A': 'required', 'trait:CUSTOM_Z': 'required'},
        'forbids': {'resources:CUSTOM_SILVER': '1', 'trait:CUSTOM_A': 'forbidden'},
        'old': {'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_OLD': 'required', 'trait:CUSTOM_A': 'required'},
    }
    found = drift(client, flavors, {'sealed': {'trait:CUSTOM_Y': 'required', 'trait:CUSTOM_A': 'required'}})
    assert found['unsatisfied'] == [
        {'name': 'lacks', 'relaxation': {'drop': ['required:CUSTOM_Z'], 'nodes': 1}},
        {'name': 'forbids', 'relaxation': {'drop': ['resource_class:CUSTOM_SILVER'], 'nodes': 1}},
        {'name': 'old', 'relaxation': {'drop': ['required:CUSTOM_A'], 'nodes': 1}},
    ]
    assert found['unused_traits'] == [{'trait': 'CUSTOM_B', 'nodes': 1}]
    assert (found['unreached'], [node['uuid'] for node in found['unreached_nodes']]) == (2, uuids[1:])
    retired = {'trait': 'CUSTOM_OLD', 'nodes': 1, 'flavors': ['old'], 'images': []}
    assert found['retired_traits'] == [retired]
    assert found['absent_image_traits'] == [{'trait': 'CUSTOM_Y', 'images': ['sealed']}]


def test_no_nodes(client):
    found = drift(client, {'gold': {'resources:CUSTOM_GOLD': '1'}})
    assert found['unsatisfied'] == [{'name': 'gold', 'relaxation': None}]


@pytest.mark.parametrize('images', [[{}], [{'name': 5}], [{'name': 'a', 'x': 1}], [None], 'all'])
def test_bad_images(client, images):
    body = {'flavors': [{'name': 'a', 'required': []}], 'images': images}
    assert client.ask('POST', '/v1/drift', body).status_int == 400


def test_metrics_of_flavors(database_url, tmp_path):
    """The metrics are about the flavors of a file, and all nodes: there is no caller to limit them."""
    path = tmp_path / 'flavors.yaml'
    path.write_text('gold: {"resources:CUSTOM_GOLD": 1}\nlarge: {"trait:CUSTOM_A": required}\n')
    with make_app(database_url, metrics__enabled=True, metrics__flavors_file=str(path)) as app:
        client = Client(app)
        uuids = [available_of(client, 'gold') for _ in range(3)]
        reserve(client, 1, uuids[0])
        client.ask('PUT', f'/v1/nodes/{uuids[1]}/maintenance', {})
        metrics = read(Request.blank('/metrics').get_response(app).text)['ironic_traits_flavor_nodes']
        gold = {('gold', 'free'): 1, ('gold', 'held'): 1, ('gold', 'unavailable'): 1}
        assert metrics == gold | {('large', use): 0 for use in ('free', 'held', 'unavailable')}


def test_metrics_of_blocks(database_url, tmp_path):
    """For a flavor with a topology, there are the number of blocks, and the size of the largest one."""
    path = tmp_path / 'flavors.yaml'
    same = '[{"key": "resource_class", "policy": "affinity"}]'
    path.write_text(
        f'pairs: {{"extra_specs": {{}}, "topology": {same}, "count": 2}}\ngold: {{"resources:CUSTOM_GOLD": 1}}\n'
    )
    with make_app(database_url, metrics__enabled=True, metrics__flavors_file=str(path)) as app:
        client = Client(app)
        for name, number in (('gold', 5), ('silver', 2), ('bronze', 1)):
            for _ in range(number):
                available_of(client, name)
        metrics = read(Request.blank('/metrics').get_response(app).text)
    assert metrics['ironic_traits_flavor_blocks'] == {('pairs',): 3}
    assert metrics['ironic_traits_flavor_largest_block'] == {('pairs',): 5}


@pytest.mark.parametrize(
    'text',
    [
        '[]',
        'gold: {"trait:x": required}',
        'a: 5',
        '{',
        'a: {"topology": 5}',
        'a: {"topology": [{"key": "owner", "policy": "affinity"}], "count": 0}',
        'a: {"topology": [{"key": "owner", "policy": "affinity"}], "trait:CUSTOM_A": required}',
        '\n'.join(f'f{n}: {{}}' for n in range(MAX_FLAVORS + 1)),
    ],
)
def test_a_bad_file_of_flavors(database_url, tmp_path, text):
    path = tmp_path / 'flavors.yaml'
    path.write_text(text)
    options = {'metrics__enabled': True, 'metrics__flavors_file': str(path)}
    with pytest.raises(cfg.Error, match='flavors_file'), make_app(database_url, **options):
        pass
