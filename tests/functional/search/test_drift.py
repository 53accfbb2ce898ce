"""Drift between flavors, images and nodes; and the metrics of flavors."""

import pytest
from oslo_config import cfg
from webob import Request

from ironic_traits.api.layers.metrics import MAX_FLAVORS
from tests.functional.server.test_metrics import read
from tests.support.checkout import CHECKOUT
from tests.support.client import Client
from tests.support.reservations import available_of, instance, reserve
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
    assert found == NOTHING | {'retired_traits': [], 'absent_image_traits': [], 'changed_flavors': [], 'warnings': []}


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


def test_metrics_of_blocks(database_url):
    """Only flavors with a topology have the numbers of blocks. The file is the one of the guide."""
    path = CHECKOUT / 'doc/source/examples/gpu-flavors.yaml'
    with make_app(database_url, metrics__enabled=True, metrics__flavors_file=str(path)) as app:
        client = Client(app)
        for number in range(10):
            uuid = available_of(client, 'gpu')
            client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': [f'CUSTOM_RACK_{number // 6}']})
        metrics = read(Request.blank('/metrics').get_response(app).text)
        assert metrics['ironic_traits_flavor_blocks'] == {('gpu.rack',): 2}
        assert metrics['ironic_traits_flavor_largest_block'] == {('gpu.rack',): 6}
        assert metrics['ironic_traits_flavor_nodes']['gpu.single', 'free'] == 10


_BLOCK = 'a: {topology: [{key: shard, policy: affinity}], '


@pytest.mark.parametrize(
    'text',
    [
        *('[]', 'gold: {"trait:x": required}', 'a: 5', '{', 'a: {topology: [{key: rack, policy: affinity}]}'),
        *(f'{_BLOCK}count: 0}}', f'{_BLOCK}required: [CUSTOM_A]}}'),
        f'a: {{topology: [{{key: shard, policy: affinity, relative_to: [{instance(1)}]}}]}}',
        '\n'.join(f'f{n}: {{}}' for n in range(MAX_FLAVORS + 1)),
    ],
)
def test_a_bad_file_of_flavors(database_url, tmp_path, text):
    path = tmp_path / 'flavors.yaml'
    path.write_text(text)
    options = {'metrics__enabled': True, 'metrics__flavors_file': str(path)}
    with pytest.raises(cfg.Error, match='flavors_file'), make_app(database_url, **options):
        pass
