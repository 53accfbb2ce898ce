"""Policy, and keystonemiddleware where it is wired.  Tokens of a real keystone are tested elsewhere."""

import pytest

from ironic_traits import failures, policies
from ironic_traits.api.protocols import BARE_METAL
from ironic_traits.app import Service
from ironic_traits.context import Context
from ironic_traits.db import migrations
from ironic_traits.inventory import nodes, reservations
from ironic_traits.inventory.matches import Wanted
from tests.client import VERSION, Client
from tests.service import make_app, make_conf


@pytest.fixture
def url(tmp_path):
    return f'sqlite:///{tmp_path}/auth.sqlite'


@pytest.fixture
def keystone(url, tmp_path):
    (tmp_path / 'keystone.conf').write_text('[keystone_authtoken]\nwww_authenticate_uri = http://127.0.0.1:1/v3\n')
    arguments = ['--config-file', str(tmp_path / 'keystone.conf')]
    with make_app(url, *arguments, api__auth_strategy='keystone') as app:
        yield Client(app)


def test_no_token_no_answer(keystone):
    """And the answer has the headers of every answer."""
    answer = keystone.ask('GET', '/v1/nodes')
    assert answer.status_int == 401
    assert answer.headers['WWW-Authenticate'] == 'Keystone uri="http://127.0.0.1:1/v3"'
    assert answer.headers['X-OpenStack-Ironic-API-Version'] == VERSION
    assert answer.headers['x-openstack-request-id'].startswith('req-')


@pytest.mark.parametrize('path', ['/', '/v1', '/v1/', '/healthcheck'])
def test_public(keystone, path):
    assert keystone.ask('GET', path).status_int == 200


def test_headers_of_a_client_are_not_believed(keystone):
    """Only keystonemiddleware says who asks."""
    forged = {'X-Identity-Status': 'Confirmed', 'X-Roles': 'admin', 'X-User-Id': 'me'}
    assert keystone.ask('GET', '/v1/nodes', headers=forged).status_int == 401


#: What the specification leaves to everybody with a token.
EVERYBODY = {'placement:traits:list', 'placement:traits:show'}
ALL = {rule.name for rule in policies.list_rules() if ':' in rule.name}
#: What each role may do.
MATRIX = {
    # The reshaper is for services alone, as in the real service.
    'admin': ALL - {'placement:reshaper:reshape'},
    'service': ALL,
    'reader': {
        'baremetal:match:list',
        'baremetal:match:check',
        'baremetal:node:list',
        'baremetal:node:list_all',
        'baremetal:node:get',
        'baremetal:node:get_states',
        'baremetal:node:traits:list',
        'baremetal:node:vif:list',
        'baremetal:chassis:get',
        'baremetal:port:list',
        'baremetal:port:get',
        'baremetal:portgroup:list',
        'baremetal:portgroup:get',
        'baremetal:volume:list',
        'baremetal:volume:get',
        'baremetal:node:validate',
        'baremetal:reservation:get',
        'baremetal:reservation:list',
        'baremetal:shards:get',
        'baremetal:driver:get',
        'baremetal:driver:get_properties',
        *EVERYBODY,
    },
    'stranger': EVERYBODY,
}


@pytest.mark.parametrize('role', MATRIX)
def test_roles(url, role):
    """What keystonemiddleware says becomes a context, and policy decides by it."""
    service = Service(make_conf(url, api__auth_strategy='keystone'))
    nobody = Context(service, BARE_METAL, 37, 'http://localhost', request_id='req-1')
    context = nobody.identified({'HTTP_X_ROLES': role, 'HTTP_X_USER_ID': 'someone', 'HTTP_X_PROJECT_ID': 'project'})
    assert (context.user_id, context.minor, context.request_id) == ('someone', 37, 'req-1')
    for rule in ALL:
        if rule in MATRIX[role]:
            context.can(rule)
        else:
            with pytest.raises(failures.Forbidden, match=rule):
                context.can(rule)


def test_why_a_node_cannot_be_reserved_is_for_those_who_see_it(url, tmp_path):
    """Somebody else's node is just not available."""
    (tmp_path / 'policy.yaml').write_text('"baremetal:node:list_all": "!"\n')
    (tmp_path / 'policy.conf').write_text(f'[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n')
    service = Service(make_conf(url, '--config-file', f'{tmp_path}/policy.conf', api__auth_strategy='keystone'))
    migrations.upgrade(service.database)
    context = Context(
        service, BARE_METAL, 82, 'http://localhost', request_id='req-1', project_id='mine', roles=['admin']
    )
    uuids = []
    for owner in ('mine', 'yours'):
        values = {'driver': 'fake-hardware', 'provision_state': 'enroll', 'owner': owner}
        uuids.append(nodes.create(context, values, ('uuid',)).uuid)
    with pytest.raises(failures.NothingToReserve) as refused:
        wanted = Wanted(idents=(*uuids, 'x'))
        reservations.reserve(context, ['a8b2c1c0-0000-4000-8000-000000000001'], wanted, reservations.Expiry())
    told = [reason['reason'] for reason in refused.value.beside['reasons']]
    assert told == ['provision state', 'not available', 'not found']


def test_noauth_allows_everything(url):
    service = Service(make_conf(url))
    Context(service, BARE_METAL, 37, 'http://localhost', request_id='req-1').can('baremetal:node:create')
