"""Logins of the web page, in a real browser: with keystone, and with http_basic."""

import base64
import json
import os
import subprocess

import bcrypt
import pytest
from playwright.sync_api import expect

from tests.support import browser as browsers
from tests.support import http_client
from tests.support.concurrency import wait_until
from tests.support.keystone_client import OPTIONS, SECRET, running
from tests.support.keystone_server import PASSWORD
from tests.support.service import ForkedServer, upgraded

STORED = 'JSON.stringify([Object.entries(localStorage), document.cookie])'


@pytest.fixture(scope='module')
def keystone(tmp_path_factory):
    with running(tmp_path_factory.mktemp('keystone')) as keystone:
        keystone.user('reader', 'reader', 'web')
        yield keystone


@pytest.fixture(scope='module')
def server(keystone, tmp_path_factory):
    folder = tmp_path_factory.mktemp('service')
    url = keystone.url.removesuffix('/v3')
    (folder / 'x.conf').write_text(OPTIONS.format(url=url, timeout=60) + '[api]\nauth_strategy = keystone\n')
    database = upgraded(f'sqlite:///{folder}/x.sqlite')
    with ForkedServer(database, '--config-file', str(folder / 'x.conf'), '--nostart-worker') as running:
        system = {'X-Auth-Token': keystone.login('admin', PASSWORD)}
        for name, owner in (('of-web', keystone.projects['web']), ('of-nobody', None)):
            node = {'driver': 'fake-hardware', 'name': name, 'owner': owner}
            status, _, body = http_client.ask(running.base, 'POST', '/v1/nodes', node, _versioned(system))
            assert status == 201, body
        yield running


def _versioned(headers):
    return {'X-OpenStack-Ironic-API-Version': '1.90', 'Content-Type': 'application/json', **headers}


def test_with_keystone(browser, keystone, server):
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401']
        page = tab.open('#/nodes?columns=name')
        expect(page.get_by_role('button', name='Log in')).to_be_visible()
        tab.check_accessibility()
        _log_in(page, 'reader', 'wrong-password', 'web')
        expect(page.get_by_role('alert')).to_contain_text('Keystone refused the login')
        _log_in(page, 'reader', SECRET, 'web')
        expect(page.locator('tbody td.name')).to_have_text(['of-web'])
        expect(page.locator('.session')).to_contain_text('reader · web')
        session = page.evaluate("JSON.parse(sessionStorage.getItem('ironic-traits.session'))")
        token = session['token']
        assert session['project_id'] == keystone.projects['web']
        assert session['user_id']
        assert token not in page.url + page.evaluate(STORED) + server.output
        assert SECRET not in page.evaluate(STORED) + server.output
        page.locator('.commands summary').click()
        command = page.locator('.command', has_text='curl').locator('code').inner_text()
        assert '@-' in command
        output = subprocess.check_output(['sh', '-c', command], env=os.environ | {'OS_TOKEN': token}, text=True)
        assert json.loads(output)['nodes'][0]['name'] == 'of-web'
        page.reload()
        expect(page.locator('tbody td.name')).to_have_text(['of-web'])
        # Another tab has no token.
        other = page.context.new_page()
        other.goto(page.url)
        expect(other.get_by_role('button', name='Log in')).to_be_visible()
        other.close()
        page.get_by_role('button', name='Log out').click()
        expect(page.get_by_role('button', name='Log in')).to_be_visible()
        assert page.evaluate('sessionStorage.length') == 0
        # The token is revoked, too.
        assert http_client.ask(server.base, 'GET', '/v1/nodes', headers={'X-Auth-Token': token})[0] == 401


def test_the_overview_of_a_project(browser, server):
    """It asks for nothing that is of the whole system, which would be refused."""
    with browsers.tab(browser, server.base) as tab:
        page = tab.open('#/overview')
        _log_in(page, 'reader', SECRET, 'web')
        expect(page.get_by_role('region', name='Waits for a person')).to_contain_text('Nothing.')
        expect(page.get_by_role('status').first).to_have_text('1 node')
        expect(page.get_by_role('heading', name='Workers')).to_have_count(0)


def test_a_reader_changes_nothing(browser, server):
    """The page offers what it cannot know to be forbidden. The service refuses it, and the page says why."""
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['403']
        page = tab.open('#/nodes')
        _log_in(page, 'reader', SECRET, 'web')
        page.get_by_role('checkbox', name='Select of-web').check()
        page.get_by_role('button', name='Change 1 node').click()
        card = page.get_by_role('region', name='Change 1 node')
        card.get_by_role('combobox', name='Add', exact=True).fill('CUSTOM_A')
        card.get_by_role('button', name='Preview').click()
        expect(card.get_by_role('alert')).to_contain_text('Your role does not allow this.')
        card.get_by_label('Action').select_option('manage')
        card.get_by_role('button', name='Preview').click()
        expect(card.get_by_role('alert')).to_contain_text('Your role does not allow this.')
        tab.check_accessibility()


def test_an_expired_token_leads_back_to_the_same_view(browser, keystone, server):
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401']
        page = tab.open('#/nodes?columns=name')
        page.get_by_label('system').check()
        _log_in(page, 'admin', PASSWORD)
        expect(page.locator('tbody td.name')).to_have_text(['of-nobody', 'of-web'])
        _revoke(tab, keystone)
        page.get_by_label('Search nodes').fill('web')
        page.get_by_role('button', name='Search').click()
        expect(page.get_by_text('Your session has ended.')).to_be_visible()
        page.get_by_role('button', name='Use a token instead').click()
        page.get_by_label('Token').fill('no-token')
        page.get_by_role('button', name='Log in').click()
        expect(page.get_by_role('alert')).to_contain_text('The token is not valid')
        page.get_by_label('Token').fill(keystone.login('admin', PASSWORD))
        page.get_by_role('button', name='Log in').click()
        expect(page.locator('tbody td.name')).to_have_text(['of-web'])
        # The token is for the system, so the page shows workers.
        assert page.evaluate("JSON.parse(sessionStorage.getItem('ironic-traits.session')).system") is True


def test_a_dialog_ends_with_the_session(browser, keystone, server):
    """It would lie over the login."""
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401']
        page = tab.open('#/nodes?columns=name')
        _log_in(page, 'reader', SECRET, 'web')
        expect(page.locator('tbody td.name')).to_have_text(['of-web'])
        page.get_by_role('button', name='Saved').click()
        _revoke(tab, keystone)
        page.evaluate("dispatchEvent(new Event('ironic-traits.again'))")
        expect(page.get_by_text('Your session has ended.')).to_be_visible()
        _log_in(page, 'reader', SECRET, 'web')
        expect(page.locator('tbody td.name')).to_have_text(['of-web'])


def test_a_logout_during_a_bulk_change(browser, server):
    """The page asks first, as for any other way out: the change would stop."""
    asked, held = [], []
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401']
        page = tab.open('#/nodes?columns=name')
        page.get_by_label('system').check()
        _log_in(page, 'admin', PASSWORD)
        # The name of the card has the number of nodes that is known at the click.
        expect(page.locator('tbody td.name')).to_have_text(['of-nobody', 'of-web'])
        tab.wait_for_responses()
        page.get_by_role('button', name='Change all', exact=True).click()
        card = page.get_by_role('region', name='Change 2 nodes')
        card.get_by_label('Action').select_option('maintenance')
        card.get_by_role('button', name='Preview').click()
        expect(card.get_by_role('button', name='Apply')).to_be_enabled()
        page.route('**/v1/nodes/actions', lambda route: held.append(route))
        card.get_by_role('button', name='Apply').click()
        expect(card.get_by_role('button', name='Stop')).to_be_visible()
        page.once('dialog', lambda dialog: asked.append(dialog.message) or dialog.dismiss())
        page.get_by_role('button', name='Log out').click()
        wait_until(lambda: page.wait_for_timeout(20) or asked)
        expect(card).to_be_visible()
        held[0].fulfill(json={'nodes': []})
        expect(card.get_by_role('button', name='Stop')).to_have_count(0)
        page.get_by_role('button', name='Log out').click()
        expect(page.get_by_role('button', name='Log in')).to_be_visible()


def test_a_leased_node(browser, keystone, server):
    """What its project may not see is no failure."""
    system = _versioned({'X-Auth-Token': keystone.login('admin', PASSWORD)})
    node = {'driver': 'fake-hardware', 'name': 'leased', 'lessee': keystone.projects['web']}
    assert http_client.ask(server.base, 'POST', '/v1/nodes', node, system)[0] == 201
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['404', '403']
        page = tab.open('#/nodes/leased')
        _log_in(page, 'reader', SECRET, 'web')
        expect(page.get_by_text('Your project may not see the history of this node.')).to_be_visible()
        expect(page.get_by_role('alert')).to_have_count(0)
        expect(page.get_by_role('region', name='State')).not_to_contain_text('Redacted')
    assert http_client.ask(server.base, 'DELETE', '/v1/nodes/leased', None, system)[0] == 204


def test_a_draft_after_the_end_of_a_session(browser, keystone, server):
    """It stays for its user, and no other one sees it."""
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401', '403']
        page = tab.open('#/rules')
        draft = page.get_by_label('Draft of a rule')
        page.get_by_label('system').check()
        _log_in(page, 'admin', PASSWORD)
        draft.fill('[{"name": "mine"}]')

        def end_session():
            _revoke(tab, keystone)
            page.get_by_role('button', name='Preview').click()
            expect(page.get_by_text('Log in again to go on where you were.')).to_be_visible()
            expect(draft).to_be_hidden()

        end_session()
        page.get_by_role('heading', level=1).click()
        page.keyboard.press('?')
        expect(page.locator('dialog')).to_have_count(0)
        tab.check_accessibility()
        page.get_by_label('system').check()
        # The rules are read again, while the page shows the old ones.
        with page.expect_response('**/v1/inspection_rules*'):
            _log_in(page, 'admin', PASSWORD)
        expect(draft).to_have_value('[{"name": "mine"}]')
        expect(page.get_by_role('alert')).to_contain_text(
            'Your session had ended, so the service refused this request.'
        )
        end_session()
        _log_in(page, 'reader', SECRET, 'web')
        expect(draft).not_to_have_value('[{"name": "mine"}]')


#: {view: text of the view when it has loaded, of a service with two nodes without class}.
_VIEWS = {
    'Why': 'Ask for something.',
    'Capacity': 'No node has a resource class.',
    'Reservations': 'Nothing is reserved.',
    'Rules': 'No rule was created here.',
    'Changes': 'CUSTOM_FROM_THE_PAGE',
}


def test_an_administrator_sees_each_view_and_writes(browser, server):
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401']
        page = tab.open('#/nodes?columns=name')
        page.get_by_label('system').check()
        _log_in(page, 'admin', PASSWORD)
        page.get_by_role('link', name='of-web').click()
        _preview(page, 'CUSTOM_FROM_THE_PAGE')
        page.get_by_role('button', name='Apply').click()
        expect(page.get_by_role('region', name='Traits and their sources')).to_contain_text('CUSTOM_FROM_THE_PAGE')
        for view, text in _VIEWS.items():
            page.get_by_role('navigation', name='Views').get_by_role('link', name=view).click()
            expect(page.get_by_text(text).first).to_be_visible()
            expect(page.get_by_role('alert')).to_have_count(0)


def test_a_reader_is_refused(browser, server):
    with browsers.tab(browser, server.base) as tab:
        tab.expected = ['401', '403']
        page = tab.open('#/nodes?columns=name')
        _log_in(page, 'reader', SECRET, 'web')
        page.get_by_role('link', name='of-web').click()
        _preview(page, 'CUSTOM_X')
        expect(page.get_by_role('alert')).to_contain_text('Your role does not allow this.')
        page.get_by_role('link', name='Rules').click()
        expect(page.get_by_role('alert').first).to_contain_text('Your role does not allow this.')


def _preview(page, trait):
    """Request the preview of an edit that adds a trait."""
    page.get_by_role('button', name='Edit').click()
    page.get_by_label('Add a trait').fill(trait)
    page.get_by_label('Add a trait').press('Enter')
    page.get_by_role('button', name='Preview').click()


def _revoke(tab, keystone):
    """Revoke the token of the session. The next request of the page finds out."""
    tab.wait_for_responses()
    token = tab.page.evaluate("JSON.parse(sessionStorage.getItem('ironic-traits.session')).token")
    keystone.ask('DELETE', '/auth/tokens', **{'X-Subject-Token': token})


def _log_in(page, user, password, project=None):
    page.get_by_label('User', exact=True).fill(user)
    page.get_by_label('Password').fill(password)
    if project:
        page.get_by_label('Project', exact=True).fill(project)
    page.get_by_role('button', name='Log in').click()


@pytest.mark.parametrize(
    'body', [None, [], {'user': 'x'}, {'user': 'x', 'password': 1}, {'user': 'x', 'password': 'y', 'z': ''}, 'x' * 9000]
)
def test_bad_logins(server, body):
    status, _, text = http_client.ask(server.base, 'POST', '/ui/login', body, {'Content-Type': 'application/json'})
    assert (status, b'A login is' in text) == (400, True)


def test_logins_of_other_origins(server):
    login = {'user': 'reader', 'password': SECRET, 'project': 'web'}
    for headers in ({'Origin': 'https://attacker.example'}, {'Sec-Fetch-Site': 'cross-site'}):
        headers |= {'Content-Type': 'application/json'}
        assert http_client.ask(server.base, 'POST', '/ui/login', login, headers)[0] == 403


def test_with_http_basic(browser, tmp_path):
    """The browser asks for the password itself, and sends it with writes, too. In the end, the service is stopped."""
    (tmp_path / 'htpasswd').write_text('operator:' + bcrypt.hashpw(b'hush-hush', bcrypt.gensalt(4)).decode())
    conf = f'[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = {tmp_path}/htpasswd\n'
    (tmp_path / 'x.conf').write_text(conf)
    database = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(database, '--config-file', str(tmp_path / 'x.conf'), '--nostart-worker') as server:
        credentials = {'username': 'operator', 'password': 'hush-hush'}
        with browsers.tab(browser, server.base, http_credentials=credentials) as tab:
            page = tab.open()
            expect(page.get_by_text('There are no nodes yet')).to_be_visible()
            tab.check_accessibility()
            page.locator('.commands summary').click()
            expect(page.locator('.commands')).to_contain_text(f"-u USER '{server.base}/v1/nodes?")
            status, headers, _ = http_client.ask(server.base, 'GET', '/v1/nodes')
            assert (status, dict(headers)['www-authenticate'].split()[0]) == (401, 'Basic')
            token = base64.b64encode(b'operator:hush-hush').decode()
            node, basic = {'driver': 'fake-hardware', 'name': 'one'}, {'Authorization': f'Basic {token}'}
            assert http_client.ask(server.base, 'POST', '/v1/nodes', node, _versioned(basic))[0] == 201
            page.get_by_label('Search nodes').fill('one')
            page.get_by_role('button', name='Search').click()
            page.get_by_role('link', name='one', exact=True).click()
            page.get_by_role('button', name='Set maintenance').click()
            page.get_by_role('dialog').get_by_role('button', name='Set maintenance').click()
            expect(page.get_by_text('yes: no reason')).to_be_visible()
            tab.expected = ['Failed to load resource']
            server.stop()
            page.get_by_role('link', name='Changes').click()
            changes = page.get_by_role('region', name='Changes')
            expect(changes.get_by_role('alert')).to_contain_text('The service does not answer.')
