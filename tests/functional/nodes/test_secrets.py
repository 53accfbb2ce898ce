"""Passwords in nodes and volume targets: access to them, and the masked texts, which each write updates."""

import orjson
import pytest
import sqlalchemy as sa

from ironic_traits import masks
from ironic_traits.db import tables
from ironic_traits.inventory.core import secrets
from tests.support.client import Client
from tests.support.reservations import available
from tests.support.service import finish_work, make_app

HUSH = {'password': 'hush', 'nested': {'list': [{'token': 'hush'}]}, 'url': 'http://x/?password=hush', 'plain': 1}
MASKED = ('hush', 'drive', 'image')


def check_masks(app):
    """Check that each masked text is the mask of the stored one."""
    with app.service.read() as connection:
        for name, fields in secrets.RULES.items():
            table = tables.metadata.tables[name]
            for field in fields:
                columns = (table.c[field], table.c[f'{field}_masked'])
                for document, masked in connection.execute(sa.select(*columns)):
                    assert secrets.with_masks(table, {field: document})[f'{field}_masked'] == masked, (name, field)


def patch(client, path, *operations):
    body = [{'op': op, 'path': pointer, 'value': value} for op, pointer, value in operations]
    response = client.ask('PATCH', path, body)
    assert response.status_int == 200, response.text
    return response


def test_masks_follow_each_write(app, client):
    # Before 1.11 a new node is available and off.
    body = {'driver_info': HUSH, 'instance_info': HUSH | {'configdrive': 'drive', 'image_url': 'image'}}
    node = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **body}, version='1.10').json
    path = f'/v1/nodes/{node["uuid"]}'
    target = {'node_uuid': node['uuid'], 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'x'}
    volume = client.ask('POST', '/v1/volume/targets', target | {'properties': HUSH}).json
    check_masks(app)
    responses = [
        patch(client, path, ('add', '/driver_info/secret', 'hush')),
        patch(client, path, ('replace', '/instance_info', {'token': 'hush'}), ('add', '/driver_info/a', 'hush=1')),
        patch(client, f'/v1/volume/targets/{volume["uuid"]}', ('add', '/properties/auth_password', 'hush')),
        client.ask('GET', '/v1/nodes/detail'),
        client.ask('GET', '/v1/volume/targets?detail=true'),
    ]
    check_masks(app)
    for response in responses[:1] + responses[3:]:
        assert '"******"' in response.text
        assert not [word for word in MASKED if f'"{word}"' in response.text], response.text
    for verb in ('active', 'deleted'):
        assert client.ask('PUT', f'{path}/states/provision', {'target': verb}).status_int == 202
        finish_work(app)
        check_masks(app)
    assert client.get(path)['instance_info'] == {}


@pytest.mark.parametrize('field', ['driver_info', 'instance_info'])
def test_policy_decides_who_sees_secrets(shared_database_url, tmp_path, field):
    rule = secrets.RULES['nodes'][field]
    (tmp_path / 'policy.yaml').write_text(f'"{rule}": "role:admin"\n')
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(tmp_path / 'policy.yaml')}
    with make_app(shared_database_url, **options) as app:
        client = Client(app)
        system = {'X-Auth-Token': 'user', 'OpenStack-System-Scope': 'all'}
        admin = system | {'X-Roles': 'admin,manager,member,reader'}
        body = {'driver': 'fake-hardware', field: {'password': 'hush'}}
        node = client.ask('POST', '/v1/nodes', body, headers=admin).json
        for headers, shown in ((admin, 'hush'), (system | {'X-Roles': 'member,reader'}, masks.MASK)):
            for path in (f'/v1/nodes/{node["uuid"]}', f'/v1/nodes/{node["uuid"]}?fields={field}'):
                assert client.ask('GET', path, headers=headers).json[field] == {'password': shown}


def test_rows_without_masked_texts_show_no_secrets(app, client):
    """Rows without masked texts, which another program may have written, show no secrets."""
    node = client.node(driver_info=HUSH)
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(driver_info_masked=None))
    response = client.ask('GET', f'/v1/nodes/{node["uuid"]}')
    assert 'hush' not in response.text
    assert 'not been masked' in response.json['driver_info']['content']


def test_masks_are_json(app, client):
    """Masked texts are JSON, also for unexpected documents."""
    for document in ({}, {'a': None}, {'password': None}, {'password': {'a': 1}}, {'a': [[['password=hush']]]}):
        node = client.node(driver_info=document)
        shown = client.get(f'/v1/nodes/{node["uuid"]}?fields=driver_info')['driver_info']
        assert orjson.loads(orjson.dumps(shown)).keys() == document.keys()
    check_masks(app)


def test_the_config_drive_of_an_instance_is_shown_as_a_mask(client):
    """As in Ironic: clients see in ``instance_info`` that there is one."""
    node = available(client)
    body = {'target': 'active', 'configdrive': 'c2VjcmV0'}
    assert client.ask('PUT', f'/v1/nodes/{node}/states/provision', body).status_int == 202
    assert client.get(f'/v1/nodes/{node}')['instance_info'] == {'configdrive': '******'}
    finish_work(client.app)
    assert client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'deleted'}).status_int == 202
    finish_work(client.app)
    assert client.get(f'/v1/nodes/{node}')['instance_info'] == {}
