"""Connections to BMCs, also to bad ones: a sentence in bounded time, without the password."""

import base64
import dataclasses
import datetime
import json
import logging
import os
import socket
import ssl
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ironic_traits.redfish import addresses, bmcs, connections, inspections
from ironic_traits.redfish.bmcs import Failure
from tests.support.bmc_server import PASSWORD, SYSTEM, TOKEN, USER, serving
from tests.support.redfish_trees import V1, to


@pytest.fixture
def bmc():
    with serving() as server:
        yield server


def connect(server, timeout=30, total=60, local=True, **info):
    """Log in."""
    return bmcs.connect(bmcs.access(server.driver_info | info), timeout, total, local)


def failure(server, **options):
    """Return why a BMC cannot be used."""
    with pytest.raises(Failure) as caught, connect(server, **options) as connected:
        connected.document()
    return str(caught.value)


def redirect(to_url):
    return lambda handler: handler.answer(b'', 302, Location=to_url)


def slowly(handler):
    """Answer a byte at a time, for ever."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b' ')
        time.sleep(0.05)


def slow_headers(handler):
    """Send headers for ever."""
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nX-Long: ')
    while True:
        handler.wfile.write(b'x')
        time.sleep(0.05)


def large(handler):
    """Send 100 MB."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b' ' * 2**20)


def test_a_system_is_read_and_the_session_closed(bmc):
    with connect(bmc) as connected:
        assert connected.system == SYSTEM
        assert connected.document()['PowerState'] == 'Off'
        assert len(bmc.sessions) == 1
        assert inspections.inspect(connected, connected.system).inventory['cpu']['architecture'] == 'x86_64'
    assert not bmc.sessions


@pytest.mark.parametrize('kind', ['basic', 'session', 'auto'])
def test_the_password_is_refused(bmc, kind, caplog):
    caplog.set_level(logging.DEBUG)
    bmc.refused = True
    assert failure(bmc, redfish_auth_type=kind) == 'The BMC refuses the user name or the password (401).'
    assert PASSWORD not in caplog.text


def test_a_document_that_the_user_may_not_read(bmc):
    for path in ('/Systems/1/Processors', '/UpdateService'):
        bmc.answers[path] = lambda handler: handler.answer({}, 403)
    with connect(bmc) as connected:
        unread = inspections.inspect(connected, connected.system).unread
        assert unread['processors'] == "The user may not read '/redfish/v1/Systems/1/Processors' (403)."
        assert len(bmc.sessions) == 1
    assert not bmc.sessions


def test_a_wrong_password_is_tried_once(bmc):
    bmc.refused = True
    failure(bmc)
    assert bmc.requests == [('GET', ''), ('POST', '/SessionService/Sessions')]


def test_a_bmc_without_sessions_may_refuse_the_path_of_sessions(bmc):
    del bmc.documents['']['SessionService'], bmc.documents['']['Links']
    logins = []

    def answer(handler):
        logins.append(handler.headers['Authorization'])
        handler.answer(bmc.documents['/Systems'])

    bmc.answers |= {'/SessionService/Sessions': lambda handler: handler.answer({}, 401), '/Systems': answer}
    with connect(bmc) as connected:
        assert connected.system == SYSTEM
    assert logins == [f'Basic {base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}']


@pytest.mark.parametrize('secret', ['s3cr"et-pä', PASSWORD * 20])
def test_no_part_of_a_password_that_the_bmc_repeats_is_shown(bmc, secret):
    def repeat(handler):
        handler.answer(
            {'error': {'@Message.ExtendedInfo': [{'Message': f'{"x" * 200} {json.dumps(handler.body)}'}]}}, 400
        )

    with connect(bmc) as connected:
        connected._access = dataclasses.replace(connected._access, password=secret)
        bmc.answers['/Systems/1/Actions/ComputerSystem.Reset'] = lambda handler: (
            handler.body.update(Password=secret), repeat(handler)
        )  # fmt: skip
        with pytest.raises(Failure) as caught:
            connected.reset('On')
    assert secret[:8] not in str(caught.value)
    assert 's3cr' not in str(caught.value)


def test_many_inline_members_end(bmc):
    many = [{'@odata.id': f'{V1}/x/{each}', 'Drives': to('/Drives')} for each in range(1000)]
    bmc.documents |= {'/Drives': {'Members': many}, '/Systems/1/Storage': {'Members': many}}
    bmc.system['Storage'] = to('/Systems/1/Storage')
    with connect(bmc) as connected:
        unread = inspections.inspect(connected, connected.system).unread
    assert unread['storage'] == 'The BMC has more than 50000 links.'


def test_sockets_do_not_pile_up(bmc):
    def close(handler):
        handler.close_connection = True
        handler.answer(bmc.documents['/Systems/1'], Connection='close')

    bmc.answers['/Systems/1'] = close
    with connect(bmc) as connected:
        for _ in range(5):
            connected.document()
        before = len(os.listdir('/proc/self/fd'))
        for _ in range(20):
            connected.document()
        assert len(os.listdir('/proc/self/fd')) - before < 10


def test_a_session_is_closed_after_a_failure(bmc):
    with pytest.raises(ZeroDivisionError), connect(bmc):
        raise ZeroDivisionError
    assert not bmc.sessions


@pytest.mark.parametrize(('answer', 'sentence'), [
    (lambda handler: time.sleep(4), 'The BMC did not answer in time ([redfish] timeout).'),
    (slowly, 'The BMC did not answer in time ([redfish] timeout).'),
    (slow_headers, 'The BMC did not answer in time ([redfish] timeout).'),
    (large, 'An answer of the BMC is larger than 2 MiB.'),
    (lambda handler: handler.answer({}, 503), f"The BMC answers 503 for '{SYSTEM}'."),
    (lambda handler: handler.answer([], 500), 'The BMC shows something that cannot be used: '),
    (lambda handler: handler.answer(b'<html>'), f"The document '{SYSTEM}' is no JSON."),
    (lambda handler: handler.answer(b'[' * 100_000), f"The document '{SYSTEM}' is no JSON."),
    (lambda handler: handler.answer(['a']), f"The document '{SYSTEM}' is no object."),
    (lambda handler: handler.answer(b'\xff\xfe\xfa'), f"The document '{SYSTEM}' is no JSON."),
    (lambda handler: handler.wfile.write(b'nonsense\r\n'), 'The BMC cannot be reached: '),
    (redirect('http://other.example.org/redfish/v1'), 'The BMC leads to another host.'),
    (redirect(SYSTEM), 'The BMC cannot be reached: '),
    (lambda handler: handler.answer({'error': {'message': f'{PASSWORD} {TOKEN}'}}, 500),
     f"The BMC answers 500 for '{SYSTEM}'."),
])  # fmt: skip
def test_a_bad_answer(bmc, answer, sentence, caplog):
    caplog.set_level(logging.DEBUG)
    bmc.answers['/Systems/1'] = answer
    begin = time.monotonic()
    text = failure(bmc, timeout=1 if 'in time' in sentence else 30)
    assert text.startswith(sentence)
    assert time.monotonic() - begin < 10
    assert not [secret for secret in (PASSWORD, TOKEN) if secret in caplog.text + text]
    assert not bmc.sessions


def test_all_answers_together_have_a_limit(bmc):
    bmc.delay = 0.3
    with connect(bmc, total=2) as connected:
        found = inspections.inspect(connected, connected.system)
    assert set(found.unread.values()) == {'The answers of the BMC took more than 2 seconds ([redfish] system_timeout).'}
    assert not bmc.sessions


def test_all_answers_together_have_a_size(bmc, monkeypatch):
    monkeypatch.setattr(connections, 'MAX_TOTAL', 5000)
    bmc.documents['/Systems/1/Processors/cpu']['Oem'] = 'x' * 5000
    with connect(bmc) as connected:
        found = inspections.inspect(connected, connected.system)
    assert 'The BMC has sent more than 0 MiB.' in found.unread.values()


def test_a_link_to_another_host_does_not_get_the_password(bmc):
    with serving() as other:
        bmc.documents['']['Links']['Sessions'] = {'@odata.id': f'{other.url}{V1}/SessionService/Sessions'}
        bmc.documents['']['SessionService'] = {'@odata.id': f'{other.url}{V1}/SessionService'}
        # The port is another one, but the host is the same: this is the same machine.
        bmc.documents['']['Links']['Sessions']['@odata.id'] = other.url.replace('127.0.0.1', 'localhost') + '/x'
        assert failure(bmc) == 'The BMC leads to another host.'
        assert other.requests == []


def test_a_bmc_that_is_not_there(bmc):
    bmc.server_close()
    assert failure(bmc) == 'The BMC cannot be reached: Connection refused.'


def found_at(monkeypatch, *addresses):
    """Let the system find bmc.example at some addresses, and return what it looks up."""
    looked_up = []

    def look_up(name, port, *arguments, original=socket.getaddrinfo, **options):
        looked_up.append(name)
        places = addresses if name == 'bmc.example' else [name]
        return [each for address in places for each in original(address, port, *arguments, **options)]

    monkeypatch.setattr(socket, 'getaddrinfo', look_up)
    return looked_up


@pytest.mark.parametrize('first', ['127.0.0.2', '::1'])
def test_a_name_with_an_address_that_does_not_answer(bmc, monkeypatch, first):
    names = found_at(monkeypatch, first, '127.0.0.1')
    with connect(bmc, redfish_address=f'http://bmc.example:{bmc.server_port}') as connected:
        assert connected.document()['PowerState'] == 'Off'
    assert names == ['bmc.example', first, '127.0.0.1']


def test_no_connection_to_an_address_that_is_not_allowed(bmc, monkeypatch):
    """How long it takes, and what fails, says nothing about the ports of this machine."""
    found_at(monkeypatch, '127.0.0.1')
    monkeypatch.setattr(socket.socket, 'connect', None)
    text = failure(bmc, local=False, redfish_address=f'http://bmc.example:{bmc.server_port}')
    assert '127.0.0.1 is an address of this machine or its link.' in text


def test_a_lookup_that_hangs(bmc, monkeypatch):
    ends = threading.Event()
    monkeypatch.setattr(socket, 'getaddrinfo', lambda *arguments, **options: ends.wait() and [])
    try:
        text = failure(bmc, timeout=1, redfish_address='http://bmc.example')
        assert text == 'The BMC did not answer in time ([redfish] timeout).'
    finally:
        ends.set()


def test_one_of_several_systems(bmc):
    bmc.documents['/Systems']['Members'].append(to('/Systems/2'))
    bmc.documents['/Systems/2'] = {'PowerState': 'On'}
    sentence = f'The BMC has several Systems. Set redfish_system_id to one of: {SYSTEM}, {V1}/Systems/2.'
    assert failure(bmc) == sentence
    with connect(bmc, redfish_system_id=f'{V1}/Systems/2/') as connected:
        assert connected.document()['PowerState'] == 'On'


@pytest.mark.parametrize(('address', 'is_allowed'), [
    ('127.0.0.1', False),
    ('::1', False),
    ('169.254.169.254', False),
    ('fe80::1%eth0', False),
    ('::ffff:127.0.0.1', False),
    ('0.0.0.0', False),
    ('224.0.0.1', False),
    ('10.0.0.5', True),
    ('2001:db8::5', True),
])  # fmt: skip
def test_addresses_of_this_machine_and_its_link(address, is_allowed):
    try:
        addresses.check_address(address)
    except addresses.BadAddress:
        assert not is_allowed
    else:
        assert is_allowed


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '0.0.0.0', '[::ffff:127.0.0.1]'])
def test_local_addresses_are_refused_whatever_their_name(bmc, host):
    text = failure(bmc, local=False, redfish_address=f'http://{host}:{bmc.server_port}')
    assert 'is an address of this machine or its link. [redfish] allow_local_addresses allows it.' in text
    assert bmc.requests == []


@pytest.mark.parametrize(('info', 'sentence'), [
    ({}, 'redfish_address is missing in driver_info.'),
    ({'redfish_address': 5}, 'redfish_address in driver_info must be a string.'),
    ({'redfish_address': 'ftp://a'}, 'redfish_address must be a URL with http or https and a host'),
    ({'redfish_address': 'https://[::1'}, 'redfish_address is no URL.'),
    ({'redfish_address': 'https://a:x'}, 'redfish_address is no URL.'),
    ({'redfish_address': 'https://u:p@a'}, 'redfish_address must have nothing but a scheme, a host and a port.'),
    ({'redfish_address': 'https://a/b'}, 'redfish_address must have nothing but a scheme, a host and a port.'),
    ({'redfish_address': 'a', 'redfish_system_id': '/other'}, 'redfish_system_id in driver_info must be a path'),
    ({'redfish_address': 'a', 'redfish_auth_type': 'x'}, 'redfish_auth_type in driver_info must be one of: auto, '),
    ({'redfish_address': 'a', 'redfish_auth_type': 'basic'}, 'redfish_username is missing in driver_info.'),
    ({'redfish_address': 'a', 'redfish_verify_ca': 5}, 'redfish_verify_ca in driver_info must be a boolean, or'),
    ({'redfish_address': 'a', 'redfish_password': ['p']}, 'redfish_password in driver_info must be a string.'),
])  # fmt: skip
def test_bad_driver_info(info, sentence):
    with pytest.raises(Failure) as caught:
        bmcs.access(info)
    assert str(caught.value).startswith(sentence)


def test_driver_info_as_in_ironic():
    info = {'redfish_address': '10.0.0.5', 'redfish_username': 'u', 'redfish_password': 'p', 'redfish_verify_ca': 'no'}
    access = bmcs.access(info)
    assert (access.url, access.system, access.verify, access.auth_type) == ('https://10.0.0.5', '', False, 'auto')
    assert 'p' not in repr(access).split("'")
    assert bmcs.access({'redfish_address': '2001:db8::5'}).url == 'https://[2001:db8::5]'


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that nobody has signed."""
    key, moment = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, '127.0.0.1')])
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), moment - day, moment + day
    )
    signed = builder.sign(key, hashes.SHA256())
    path = tmp_path / 'bmc.pem'
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))  # fmt: skip
    return path


def test_a_wrong_certificate(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context=context) as bmc:
        assert failure(bmc).startswith('The certificate of the BMC cannot be verified (redfish_verify_ca): ')
        with connect(bmc, redfish_verify_ca=False) as connected:
            assert connected.document()['PowerState'] == 'Off'
        bmc.answers['/Systems/1'] = slowly
        assert failure(bmc, timeout=1, redfish_verify_ca=False) == 'The BMC did not answer in time ([redfish] timeout).'
        assert 'The BMC cannot be' in failure(bmc, redfish_verify_ca='/no/such/file')
