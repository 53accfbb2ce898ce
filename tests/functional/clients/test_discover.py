"""baremetal discover finds BMCs, shows their machines, and enrolls them in a running service."""

import json
import re
import signal
import ssl
import subprocess
import time

import pytest

from tests.support import certificates, commands
from tests.support.bmc_nodes import serving_redfish
from tests.support.bmc_server import PASSWORD, TOKEN, USER, serving, tree
from tests.support.programs import BIN
from tests.support.servers import free_port
from tests.support.terminal import Terminal

UUID = '5c6e1f4e-3a53-4d1c-a4a1-0d3e8c9b7a6'


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    with serving_redfish(tmp_path_factory.mktemp('service')) as running:
        yield running


@pytest.fixture
def environment(service, monkeypatch):
    """The environment of a user of the service, who has exported the password of the BMCs."""
    monkeypatch.setenv('OS_AUTH_TYPE', 'none')
    monkeypatch.setenv('OS_ENDPOINT', service.base)
    monkeypatch.setenv('REDFISH_PASSWORD', PASSWORD)


@pytest.fixture
def bmcs():
    """BMCs of three machines, which differ from those of other tests."""
    with serving() as one, serving() as two, serving() as three:
        for server in (one, two, three):
            server.system['UUID'] = f'5c6e1f4e-3a53-4d1c-a4a1-{server.server_port:012}'
            mac = f'52:54:00:00:{server.server_port >> 8:02x}:{server.server_port & 255:02x}'
            server.documents['/Systems/1/EthernetInterfaces/nic']['MACAddress'] = mac
        yield one, two, three


@pytest.fixture
def rack(bmcs, tmp_path):
    """A file with the addresses of the BMCs."""
    path = tmp_path / 'rack.txt'
    path.write_text(''.join(f'{server.url}\n' for server in bmcs))
    return str(path)


def discover(*arguments, program=('baremetal',), code=0):
    """Run the command, and return its rows and its errors."""
    done = commands.run(*program, 'discover', '--user', USER, *arguments, '-f', 'json')
    assert done.returncode == code, done.stdout + done.stderr
    assert not [secret for secret in (PASSWORD, TOKEN) if secret in done.stdout + done.stderr]
    return json.loads(done.stdout) if done.stdout else None, done.stderr


def refusal(*arguments):
    """Return the sentence with which the command is refused."""
    rows, errors = discover(*arguments, code=1)
    assert rows is None
    return errors.strip()


@pytest.mark.usefixtures('environment')
@pytest.mark.parametrize('program', [('baremetal',), ('openstack', 'baremetal')], ids=' '.join)
def test_a_rack(bmcs, rack, program):
    bmcs[0].system['SerialNumber'] = 'S1'
    rows, errors = discover('--file', rack, program=program)
    assert errors == 'Found 3 machines. 0 failures.\n'
    [row] = [row for row in rows if row['Address'] == bmcs[0].url]
    uuid = bmcs[0].system['UUID']
    assert row == {
        'Address': bmcs[0].url,
        'System': '/redfish/v1/Systems/1',
        'Vendor': 'Acme',
        'Model': 'A1',
        'Serial': 'S1',
        'CPU': 'Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz',
        'Traits': 36,
        'Node': uuid,
        'Result': 'would be created: 1 new port',
    }
    results = [{row['Result'] for row in discover('--file', rack, '--enroll', program=program)[0]} for _ in range(2)]
    assert results == [{'created: 1 new port'}, {'unchanged'}]
    rows, _ = discover('--file', rack, '--long', program=program)
    assert 'HW_CPU_X86_AVX512F' in rows[0]['Traits']
    assert rows[0]['Unread'] == {'firmware': "The BMC answers 404 for '/redfish/v1/UpdateService'."}
    node = json.loads(commands.run('baremetal', 'node', 'show', uuid, '-f', 'json').stdout)
    assert (node['driver'], node['driver_info']['redfish_address']) == ('redfish', bmcs[0].url)
    assert not any(server.sessions for server in bmcs)


@pytest.mark.usefixtures('environment')
def test_a_range_with_certificates(tmp_path):
    """Nothing answers at the other addresses. Without --insecure-bmc, the password is not sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.self_signed(tmp_path, '127.9.0.5'))
    port = free_port()
    with serving(tree(UUID=f'{UUID}5'), context, ('127.9.0.5', port)) as bmc:
        options = ('--range', '127.9.0.4/30', '--range', '127.9.0.5', '--port', str(port))
        [row], errors = discover(*options, code=1)
        assert row['Result'].startswith('The certificate of the BMC cannot be verified')
        assert errors == 'Found 0 machines. 1 failure.\n'
        assert {method for method, _ in bmc.requests} == {'GET'}
        [row], _ = discover(*options, '--insecure-bmc')
        assert (row['Address'], row['Node']) == (f'https://127.9.0.5:{port}', f'{UUID}5')
        [row], _ = discover(*options, '--insecure-bmc', '--enroll', '--resource-class', 'gold')
        node = json.loads(commands.run('baremetal', 'node', 'show', row['Node'], '-f', 'json').stdout)
        assert (node['driver_info']['redfish_verify_ca'], node['resource_class']) == (False, 'gold')
        assert not bmc.sessions
    assert discover('--range', '127.9.0.4/30', '--port', str(port)) == ([], 'Found 0 machines. 0 failures.\n')


@pytest.mark.usefixtures('environment')
def test_failures(bmcs, tmp_path, monkeypatch):
    """One user name and password for each BMC, and other BMCs that fail."""
    monkeypatch.delenv('REDFISH_PASSWORD')
    good, refusing, hanging = bmcs
    refusing.refused, hanging.delay = True, 5
    with serving({'': {'Name': 'web'}}) as page:
        infos = [server.driver_info for server in (*bmcs, page)]
        (tmp_path / 'rack.yaml').write_text(json.dumps(infos))
        rows, errors = discover('--file', str(tmp_path / 'rack.yaml'), '--enroll', '--timeout', '1', code=1)
    assert errors == 'Found 1 machine. 3 failures.\n'
    assert {row['Address']: row['Result'] for row in rows} == {
        good.url: 'created: 1 new port',
        refusing.url: 'The BMC refuses the user name or the password (401).',
        hanging.url: 'The BMC did not answer in time.',
        page.url: 'There is no BMC: /redfish/v1 is no service root of Redfish.',
    }


@pytest.mark.usefixtures('environment')
@pytest.mark.parametrize(('arguments', 'sentence'), [
    ((), 'Name the addresses of BMCs: --range or --file.'),
    (('--range', '10.0.0.0/8'), 'The ranges have more than 65,536 addresses.'),
    (('--range', 'rack7'), "'rack7' is no range of addresses, such as 10.0.0.0/24."),
    (('--file', '/nowhere'), '/nowhere: No such file or directory.'),
    (('--file', '/dev/null'), '/dev/null: It must have a line for the address of each BMC, or a list of obje'),
])  # fmt: skip
def test_bad_options(arguments, sentence):
    assert refusal(*arguments).startswith(sentence)


@pytest.mark.parametrize('option', ['--port 0', '--port 65536', '--port x', '--jobs 0', '--jobs -1', '--timeout 0'])
def test_bad_numbers(option):
    done = commands.run('baremetal', 'discover', '--range', '127.9.0.9', *option.split())
    assert done.returncode == 2
    assert f'argument {option.split()[0]}: ' in done.stderr


@pytest.mark.usefixtures('environment')
def test_no_password(rack, monkeypatch):
    monkeypatch.delenv('REDFISH_PASSWORD')
    sentence = 'Set the password of the BMCs in the environment variable REDFISH_PASSWORD.'
    assert refusal('--file', rack) == sentence
    assert refusal('--range', '127.9.0.9') == sentence


def test_a_service_that_is_not_there(bmcs, rack, monkeypatch):
    """No BMC is read for nothing."""
    monkeypatch.setenv('OS_AUTH_TYPE', 'none')
    monkeypatch.setenv('OS_ENDPOINT', f'http://127.0.0.1:{free_port()}')
    monkeypatch.setenv('REDFISH_PASSWORD', PASSWORD)
    assert refusal('--file', rack).startswith('Unable to establish connection to ')
    assert not any(server.requests for server in bmcs)


@pytest.mark.usefixtures('environment')
def test_control_characters(bmcs, rack):
    bmcs[0].system['Model'] = 'x\x1b[2J\u202e'
    bmcs[1].documents['/Systems']['Members'] = [{'@odata.id': '/redfish/v1/Systems/\x1b[2J'}]
    done = commands.run('baremetal', 'discover', '--user', USER, '--file', rack, '--long')
    assert not re.search('[\x1b\u202e]', done.stdout + done.stderr)


@pytest.mark.usefixtures('environment')
def test_a_terminal(bmcs, rack, tmp_path, monkeypatch):
    """It asks for the password, which is not printed, and shows each machine as soon as its BMC has answered."""
    monkeypatch.delenv('REDFISH_PASSWORD')
    bmcs[0].system['Model'] = 'x\x1b[2J'
    with Terminal('baremetal', 'discover', '--user', USER, '--file', rack, cwd=tmp_path) as terminal:
        terminal.wait_for('Password of the BMCs: ')
        terminal.press(f'{PASSWORD}\n'.encode())
        terminal.wait_for(f'{bmcs[1].url}/redfish/v1/Systems/1: Acme A1\n')
        assert terminal.process.wait(60) == 0
        text = terminal.printed()
    assert f'{bmcs[0].url}/redfish/v1/Systems/1: Acme x[2J\n' in text
    assert '| /redfish/v1/Systems/1 |' in text
    assert 'Found 3 machines. 0 failures.' in text
    assert PASSWORD not in text


@pytest.mark.usefixtures('environment')
def test_an_interrupt(bmcs, rack, tmp_path):
    """The sessions are closed, and nothing is enrolled."""
    slow = bmcs[0]
    slow.answers['/Systems/1/Processors'] = lambda handler: (time.sleep(2), handler.answer({}))
    command = [BIN / 'baremetal', 'discover', '--user', USER, '--file', rack, '--enroll']
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path)
    while ('GET', '/Systems/1/Processors') not in slow.requests:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'Traceback' not in output
    assert not any(server.sessions for server in bmcs)
    found = commands.run('baremetal', 'node', 'show', slow.system['UUID'])
    assert found.returncode == 1
