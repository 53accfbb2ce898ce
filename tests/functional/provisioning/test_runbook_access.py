"""Access to runbooks, and to lists of steps."""

from tests.support import personas
from tests.support.client import Client
from tests.support.service import finish_work, make_app
from tests.support.transitions import put_in

LOG = {'interface': 'vendor', 'step': 'log_passthrough'}


def test_who_may_use_a_runbook(ask):
    """As in Ironic, managers may use the runbooks of their project. Public ones are for system members and services."""
    admin = Client(ask.app)
    put_in(ask.app, personas.NODE, 'active')
    path = f'/v1/nodes/{personas.NODE}/states/provision'

    def use(persona):
        body = {'target': 'service', 'runbook': f'{personas.RECORD}6'}
        return admin.ask('PUT', path, body, headers=ask.headers(persona), version='1.92').status_int

    assert [use(persona) for persona in ('owner_member', 'lessee_admin', 'owner_reader')] == [403, 404, 403]
    assert use('owner_manager') == 202
    finish_work(ask.app)
    public = [{'op': 'replace', 'path': '/public', 'value': True}]
    system = ask.headers('system_member')
    assert admin.ask('PATCH', f'/v1/runbooks/{personas.RECORD}6', public, headers=system).status_int == 200
    assert [use(persona) for persona in ('owner_manager', 'lessee_admin')] == [403] * 2
    assert use('system_member') == 202


def test_who_sees_runbooks(ask):
    """Every caller sees a public runbook, but only a system reader sees its traits."""
    path = f'/v1/runbooks/{personas.RECORD}6'

    def statuses(persona):
        headers = ask.headers(persona)
        listed = Client(ask.app).ask('GET', '/v1/runbooks', headers=headers).json['runbooks']
        one, traits = (
            Client(ask.app).ask('GET', each, headers=headers).status_int for each in (path, f'{path}/traits')
        )
        return len(listed), one, traits

    assert statuses('owner_reader') == (1, 200, 200)
    assert statuses('stranger_admin') == (0, 404, 404)
    public = [{'op': 'replace', 'path': '/public', 'value': True}]
    assert Client(ask.app).ask('PATCH', path, public, headers=ask.headers('owner_manager')).status_int == 403
    assert Client(ask.app).ask('PATCH', path, public, headers=ask.headers('system_member')).status_int == 200
    assert statuses('owner_reader') == (1, 200, 403)
    assert statuses('stranger_admin') == (1, 200, 403)
    assert statuses('system_reader') == (1, 200, 200)
    response = Client(ask.app).ask('GET', '/v1/runbooks?project=alpha', headers=ask.headers('stranger_admin'))
    assert response.status_int == 403


def test_runbooks_of_projects(ask):
    """A caller with a project creates runbooks of that project, which are not public."""
    client = Client(ask.app)
    body = {'name': 'mine', 'steps': [LOG | {'order': 1}]}

    def create(persona, **fields):
        return client.ask('POST', '/v1/runbooks', body | fields, headers=ask.headers(persona))

    assert create('owner_manager', owner='beta').status_int == 400
    assert create('owner_manager', public=True).status_int == 400
    assert create('owner_manager').json['owner'] == 'alpha'
    other = create('system_admin', name='ours', owner='beta')
    assert (other.status_int, other.json['owner']) == (201, 'beta')
    shared = create('system_admin', name='public', public=True)
    assert (shared.json['owner'], shared.json['public']) == (None, True)


def test_rules_of_steps(tmp_path):
    """Policy can allow changes of the provision state, but not lists of steps."""
    policy = tmp_path / 'policy.yaml'
    policy.write_text(
        '"baremetal:node:set_provision_state:clean_steps": "!"\n'
        '"baremetal:node:set_provision_state:service_steps": "!"\n'
    )
    path = tmp_path / 'access.sqlite'
    personas.make_template(path)
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(policy)}
    with make_app(f'sqlite:///{path}', **options) as app:
        client, headers = Client(app), personas.headers('owner_member')
        for state, verb in (('manageable', 'clean'), ('active', 'service')):
            put_in(app, personas.NODE, state)
            body = {'target': verb, f'{verb}_steps': [LOG]}
            response = client.ask('PUT', f'/v1/nodes/{personas.NODE}/states/provision', body, headers=headers)
            assert response.status_int == 403, response.text
