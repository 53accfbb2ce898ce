"""Policy, HTTP Basic, and keystonemiddleware. test_keystone.py has the tests with a real keystone."""

import base64

import bcrypt
import pytest
from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.holds import reservations, reserve
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.service import Service
from tests.support.client import VERSION, Client
from tests.support.service import make_app, make_conf, upgraded


@pytest.fixture
def url(tmp_path):
    return f'sqlite:///{tmp_path}/auth.sqlite'


@pytest.fixture
def keystone(url, tmp_path):
    options = 'www_authenticate_uri = http://127.0.0.1:1/v3\nauth_type = password\nauth_url = http://127.0.0.1:1/v3\n'
    (tmp_path / 'keystone.conf').write_text(f'[keystone_authtoken]\n{options}')
    arguments = ['--config-file', str(tmp_path / 'keystone.conf')]
    with make_app(url, *arguments, api__auth_strategy='keystone') as app:
        yield Client(app)


def test_401_without_a_token(keystone):
    """The response to a request without a token has all usual headers."""
    response = keystone.ask('GET', '/v1/nodes')
    assert response.status_int == 401
    assert response.headers['WWW-Authenticate'] == 'Keystone uri="http://127.0.0.1:1/v3"'
    assert response.headers['X-OpenStack-Ironic-API-Version'] == VERSION
    assert response.headers['x-openstack-request-id'].startswith('req-')


@pytest.mark.parametrize('path', ['/', '/v1', '/v1/'])
def test_public(keystone, path):
    assert keystone.ask('GET', path).status_int == 200


def test_forged_identity_headers(keystone):
    """Only keystonemiddleware sets them."""
    forged = {'X-Identity-Status': 'Confirmed', 'X-Roles': 'admin', 'X-User-Id': 'me'}
    assert keystone.ask('GET', '/v1/nodes', headers=forged).status_int == 401


@pytest.mark.parametrize('rule', ['placement:traits:list', 'placement:traits:show'])
def test_any_token_can_read_traits(url, rule):
    """Any token may read traits, as in the specification. The context is built from keystonemiddleware's headers."""
    service = Service(make_conf(url, api__auth_strategy='keystone'))
    nobody = Context(service, BARE_METAL, 37, 'http://localhost', request_id='req-1')
    context = nobody.identified({'HTTP_X_ROLES': '', 'HTTP_X_USER_ID': 'someone', 'HTTP_X_PROJECT_ID': 'project'})
    assert (context.user_id, context.minor, context.request_id) == ('someone', 37, 'req-1')
    context.can(rule)
    with pytest.raises(failures.Forbidden, match='placement:traits:update'):
        context.can('placement:traits:update')


def test_reasons_for_foreign_nodes(url, tmp_path):
    """The reason for a node of another project is the one for a node that does not exist."""
    (tmp_path / 'policy.yaml').write_text('"baremetal:node:list_all": "!"\n')
    (tmp_path / 'policy.conf').write_text(f'[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n')
    options = ['--config-file', f'{tmp_path}/policy.conf']
    service = Service(make_conf(upgraded(url), *options, api__auth_strategy='keystone'))
    context = Context(
        service, BARE_METAL, 82, 'http://localhost', request_id='req-1', project_id='mine', roles=['admin']
    )
    uuids = []
    for owner in ('mine', 'yours'):
        values = {'driver': 'fake-hardware', 'provision_state': 'enroll', 'owner': owner}
        uuids.append(nodes.create(context, values, ('uuid',)).uuid)
    with pytest.raises(failures.NothingToReserve) as refused:
        request = NodeRequest(Grant(()), idents=(*uuids, 'x'))
        reserve.reserve(context, ['a8b2c1c0-0000-4000-8000-000000000001'], request, reservations.Expiry())
    reasons = [reason['reason'] for reason in refused.value.beside['reasons']]
    assert reasons == ['provision state', 'not found', 'not found']


def test_noauth_allows_everything(url):
    service = Service(make_conf(url))
    Context(service, BARE_METAL, 37, 'http://localhost', request_id='req-1').can('baremetal:node:create')


def test_incomplete_keystone_configuration(url):
    """The service refuses it at its start. Otherwise the first request would fail with 500."""
    with pytest.raises(cfg.Error, match='auth_type is not set'), make_app(url, api__auth_strategy='keystone'):
        pass


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.0.2.1', 'example.org'])
def test_noauth_beyond_loopback_is_refused(url, host):
    """noauth on other addresses than loopback needs ``noauth_beyond_loopback``."""
    with pytest.raises(cfg.Error, match='Every client that reaches'):
        make_conf(url, '--host', host)


def test_noauth_beyond_loopback(url, tmp_path):
    (tmp_path / 'open.conf').write_text('[api]\nnoauth_beyond_loopback = true\n')
    assert make_conf(url, '--config-file', f'{tmp_path}/open.conf', '--host', '0.0.0.0').host == '0.0.0.0'


#: The password is "hush-hush", as htpasswd -B writes it.
USER = 'operator:' + bcrypt.hashpw(b'hush-hush', bcrypt.gensalt(4)).decode() + '\n'


@pytest.fixture
def basic(url, tmp_path):
    (tmp_path / 'htpasswd').write_text(USER)
    with make_app(
        upgraded(url), api__auth_strategy='http_basic', api__http_basic_auth_user_file=str(tmp_path / 'htpasswd')
    ) as app:
        yield Client(app)


def login(user, password, scheme='Basic'):
    """Return the header with a user and a password."""
    return {'Authorization': f'{scheme} {base64.b64encode(f"{user}:{password}".encode()).decode()}'}


def test_http_basic(basic):
    for path in ('/', '/v1', '/v1/', '/healthcheck', '/placement/'):
        assert basic.ask('GET', path).status_int == 200
    assert basic.ask('GET', '/v1/nodes', headers=login('operator', 'hush-hush')).status_int == 200
    assert basic.ask('GET', '/placement/traits', version=None, headers=login('operator', 'hush-hush')).status_int == 404
    versioned = login('operator', 'hush-hush') | {'OpenStack-API-Version': 'placement 1.6'}
    assert basic.ask('GET', '/placement/traits', version=None, headers=versioned).status_int == 200


WRONG = [
    {},
    login('operator', 'Secret'),
    login('operator', ''),
    login('operator', 'x' * 100),
    login('nobody', 'hush-hush'),
    login('', ''),
    login('operator', 'hush-hush', 'Bearer'),
    {'Authorization': 'Basic'},
    {'Authorization': 'Basic !!!'},
    {'Authorization': 'Basic ' + base64.b64encode(b'operator').decode()},
    {'X-User': 'operator', 'X-Roles': 'admin'},
]


@pytest.mark.parametrize('headers', WRONG)
@pytest.mark.parametrize('path', ['/v1/nodes', '/placement/traits'])
def test_http_basic_refuses(basic, path, headers):
    response = basic.ask('GET', path, headers=headers)
    assert response.status_int == 401
    assert response.headers['WWW-Authenticate'] == 'Basic realm="Baremetal API"'
    assert response.headers['x-openstack-request-id'].startswith('req-')
    assert response.json
    if path == '/v1/nodes':
        assert response.json['code'] == 'baremetal.unauthorized'


@pytest.mark.parametrize('text', [None, 'operator:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n', 'operator:plain\n'])
def test_http_basic_without_a_valid_file(url, tmp_path, text):
    """The service refuses a missing file, and passwords in another format."""
    if text:
        (tmp_path / 'htpasswd').write_text(text)
    options = {'api__auth_strategy': 'http_basic', 'api__http_basic_auth_user_file': str(tmp_path / 'htpasswd')}
    with pytest.raises(cfg.Error, match=r'http_basic_auth_user_file = .*htpasswd: \w'), make_app(url, **options):
        pass


def test_http_basic_compares_a_password_for_unknown_users(basic, monkeypatch):
    """Otherwise the response time would show which users exist."""
    compared = []

    def checkpw(*arguments):
        compared.append(arguments)
        return real(*arguments)

    real = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, 'checkpw', checkpw)
    for user, password in (('operator', 'x'), ('stranger', 'x'), ('stranger', 'hush-hush')):
        assert basic.ask('GET', '/v1/nodes', headers=login(user, password)).status_int == 401
    assert [password for password, _ in compared] == [b'x', b'x', b'hush-hush']


def test_http_basic_whose_file_disappears(basic, tmp_path, caplog):
    users = tmp_path / 'htpasswd'
    users.rename(tmp_path / 'elsewhere')
    for path, user in (('/v1/nodes', 'operator'), ('/placement/traits', 'stranger')):
        response = basic.ask('GET', path, headers=login(user, 'hush-hush'))
        assert response.status_int == 503
        assert 'file of users' in response.text
    assert 'http_basic_auth_user_file cannot be read' in caplog.text
    assert {record.levelname for record in caplog.records if 'htpasswd' in record.message} == {'ERROR'}
    users.write_text('')
    assert basic.ask('GET', '/v1/nodes', headers=login('operator', 'hush-hush')).status_int == 401
    (tmp_path / 'elsewhere').rename(users)
    assert basic.ask('GET', '/v1/nodes', headers=login('operator', 'hush-hush')).status_int == 200


def test_show_password(url, tmp_path):
    (tmp_path / 'policy.yaml').write_text('"show_password": "role:admin"\n')
    (tmp_path / 'policy.conf').write_text(f'[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n')
    system = {'X-Auth-Token': 'x', 'OpenStack-System-Scope': 'all'}
    with make_app(upgraded(url), '--config-file', f'{tmp_path}/policy.conf', api__auth_strategy='noauth2') as app:
        client = Client(app)
        for roles, shown in (('admin,member,reader', 'hush-hush'), ('member,reader', '******')):
            headers = system | {'X-Roles': roles}
            body = {'driver': 'fake-hardware', 'name': 'one', 'driver_info': {'password': 'hush-hush'}}
            client.ask('POST', '/v1/nodes', body, headers=headers)
            assert client.ask('GET', '/v1/nodes/one', headers=headers).json['driver_info'] == {'password': shown}
