"""Discovery of BMCs: at which addresses, what they show, and that each ends in bounded time with its session closed."""

import logging
import threading

import pytest

from ironic_traits import extras
from ironic_traits.redfish import bmc_files, discovery
from ironic_traits.redfish.bmc_files import BadFile
from ironic_traits.redfish.discovery import BadRange, Discovered, Limits, Target
from ironic_traits.redfish.inspections import Inspection
from tests.support.bmc_server import PASSWORD, SYSTEM, TOKEN, USER, serving
from tests.support.redfish_trees import V1, to

LOGIN = {'redfish_username': USER, 'redfish_password': PASSWORD}
QUICK = Limits(jobs=8, probe=5, timeout=5, total=30)
UUID = '5c6e1f4e-3a53-4d1c-a4a1-0d3e8c9b7a61'


@pytest.fixture
def bmc():
    with serving() as server:
        yield server


def find(*servers, limits=QUICK, **login):
    """Return what the BMCs show, by their addresses."""
    targets = [Target({'redfish_address': server.url, **LOGIN, **login}) for server in servers]
    return {each.address: each for each in discovery.discover(targets, limits)}


def problem(server, **login):
    """Return why a BMC fails."""
    [found] = find(server, **login).values()
    assert found.inspection is None
    return found.problem


@pytest.mark.parametrize(('ranges', 'addresses'), [
    (['10.0.0.0/30'], ['10.0.0.1', '10.0.0.2']),
    (['10.0.0.5'], ['10.0.0.5']),
    (['10.0.0.0/31', '10.0.0.1/32'], ['10.0.0.0', '10.0.0.1']),
    (['10.0.0.6/30'], ['10.0.0.5', '10.0.0.6']),
    (['2001:db8::/126'], ['[2001:db8::1]', '[2001:db8::2]', '[2001:db8::3]']),
])  # fmt: skip
def test_ranges(ranges, addresses):
    targets = discovery.targets(ranges, LOGIN)
    assert [each.driver_info['redfish_address'] for each in targets] == [f'https://{each}' for each in addresses]
    [target] = discovery.targets(['::1'], LOGIN, 8443)
    assert target.driver_info == {**LOGIN, 'redfish_address': 'https://[::1]:8443'}
    assert PASSWORD not in repr(target)


@pytest.mark.parametrize(('ranges', 'sentence'), [
    (['rack7'], "'rack7' is no range of addresses, such as 10.0.0.0/24."),
    ([''], "'' is no range"),
    (['10.0.0.0/8'], 'The ranges have more than 65,536 addresses.'),
    (['10.0.0.0/16', '10.1.0.0/16'], 'The ranges have more than 65,536 addresses.'),
    (['2001:db8::/64'], 'The ranges have more than 65,536 addresses.'),
    (['224.0.0.0/30'], '224.0.0.0/30 is a range of multicast addresses.'),
    (['ff02::1'], 'ff02::1 is a range of multicast addresses.'),
])  # fmt: skip
def test_bad_ranges(ranges, sentence):
    with pytest.raises(BadRange) as caught:
        discovery.targets(ranges, LOGIN)
    assert str(caught.value).startswith(sentence)


def test_a_machine(bmc):
    bmc.system['SerialNumber'] = 'S1'
    [found] = find(bmc).values()
    assert (found.system, found.uuid, found.macs) == (SYSTEM, UUID, ['52:54:00:00:00:01'])
    assert found.vendor == {'manufacturer': 'Acme', 'product_name': 'A1', 'serial_number': 'S1'}
    assert found.cpu.startswith('Intel(R) Xeon(R) Gold 6354')
    assert 'HW_ARCH_X86_64' in found.traits
    assert found.driver_info == {**bmc.driver_info, 'redfish_system_id': SYSTEM}
    assert not bmc.sessions
    assert PASSWORD not in repr(found)


def test_each_machine_of_a_bmc(bmc):
    bmc.documents['/Systems']['Members'] += [to('/Systems/2'), to('/Systems/3')]
    bmc.documents['/Systems/2'] = {'Boot': {}, 'Model': 'A2'}
    targets = [Target(bmc.driver_info), Target({**bmc.driver_info, 'redfish_system_id': f'{V1}/Systems/2'})]
    every = sorted(discovery.discover(targets, QUICK), key=lambda each: each.system)
    assert [(each.system, each.vendor.get('product_name')) for each in every] == [
        (SYSTEM, 'A1'),
        (f'{V1}/Systems/2', 'A2'),
        (f'{V1}/Systems/2', 'A2'),
    ]


def test_one_address_in_several_forms(bmc):
    urls = (bmc.url, f'{bmc.url}/', bmc.url.replace('http', 'HTTP'))
    assert [
        each.address for each in discovery.discover([Target({**LOGIN, 'redfish_address': url}) for url in urls])
    ] == [bmc.url]


def hang(handler):
    threading.Event().wait(20)


def test_bad_bmcs_do_not_stop_the_others(bmc, caplog):
    """Each has a sentence, without the password and the token of the session."""
    caplog.set_level(logging.DEBUG)
    with (
        serving() as refusing,
        serving() as hanging,
        serving() as late,
        serving({'': {}}) as page,
        serving({}) as absent,
    ):
        refusing.refused, hanging.answers['/Systems'], late.delay = True, hang, 20
        with serving() as gone:
            pass
        found = find(bmc, refusing, hanging, late, page, absent, gone)
    assert {address: each.problem for address, each in found.items()} == {
        bmc.url: '',
        refusing.url: 'The BMC refuses the user name or the password (401).',
        hanging.url: 'The BMC did not answer in time.',
        late.url: 'The BMC did not answer in time.',
        page.url: 'There is no BMC: /redfish/v1 is no service root of Redfish.',
        absent.url: 'The BMC answers 404. Not found',
        gone.url: 'The BMC cannot be reached: Connection refused.',
    }
    assert not hanging.sessions
    assert not [secret for secret in (PASSWORD, TOKEN) if secret in caplog.text + repr(found)]


def test_only_a_bmc_gets_the_password():
    with serving({'': {'Name': 'web'}}) as web:
        problem(web)
        assert {method for method, _ in web.requests} == {'GET'}


def test_an_address_of_a_range_without_a_bmc_is_no_failure(bmc):
    progress = []
    with serving({}) as web:
        servers = (web, bmc)
        targets = [Target({'redfish_address': each.url, **LOGIN}, is_named=False) for each in servers]
        [found] = discovery.discover(targets, QUICK, lambda: progress.append(1))
    assert (found.address, found.problem, len(progress)) == (bmc.url, '', 2)


@pytest.mark.parametrize('document', [[], 'x', {'Members': 5}, {'Members': [5, {}, {'@odata.id': 5}]}, {'Members': []}])
def test_strange_documents(bmc, document):
    bmc.documents['/Systems'] = document
    assert problem(bmc).endswith('.')
    assert not bmc.sessions


def test_bad_driver_info(bmc):
    assert problem(bmc, redfish_system_id='/x').startswith('redfish_system_id in driver_info must be a path')


@pytest.mark.parametrize('limit', [1, 3])
def test_a_bounded_number_at_once(limit):
    running, most, lock = [0], [0], threading.Lock()

    def answer(handler):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.05)
        with lock:
            running[0] -= 1
        handler.answer({})

    with serving() as bmc:
        bmc.answers[''] = answer
        targets = [Target({'redfish_address': f'{bmc.url}', 'redfish_system_id': f'{SYSTEM}{n}'}) for n in range(8)]
        assert len(list(discovery.discover(targets, Limits(jobs=limit, probe=5)))) == 8
    assert most[0] <= limit


def test_closing_ends_the_sessions(bmc):
    """The first result is there, another BMC is being read, and others were not asked."""
    reading, go_on = threading.Event(), threading.Event()

    def answer(handler):
        reading.set()
        go_on.wait(10)
        handler.answer(slow.documents['/Systems/1'])

    with serving() as slow, serving() as never:
        slow.answers['/Systems/1'] = answer
        targets = [Target(each.driver_info) for each in (bmc, slow, never)]
        found = discovery.discover(targets, Limits(jobs=1, timeout=20))
        assert next(found).address == bmc.url
        assert reading.wait(10)
        threading.Timer(0.1, go_on.set).start()
        found.close()
        assert not slow.sessions
        assert ('GET', '/Systems/1/Processors') not in slow.requests
        assert never.requests == []


@pytest.mark.parametrize(('value', 'uuid'), [
    (UUID.upper(), UUID),
    (UUID.replace('-', ''), UUID),
    ('4c4c4544-0035-3410-8050-c6c04f314733', '4c4c4544-0035-3410-8050-c6c04f314733'),
    ('', ''),
    ('Not Specified', ''),
    ('5c6e1f4e', ''),
    ('00000000-0000-0000-0000-000000000000', ''),
    ('FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', ''),
    ('03000200-0400-0500-0006-000700080009', ''),
    ('12345678-1234-5678-90AB-CDDEEFAABBCC', ''),
    ('4c4c4544-0000-2010-8020-80c04f202020', ''),
])  # fmt: skip
def test_uuids(value, uuid):
    assert Discovered({}, Inspection({}, {'redfish': {'uuid': value}}, {})).uuid == uuid


def test_macs():
    macs = ['52:54:00:00:00:02', '52:54:00:00:00:01', 'ff:ff:ff:ff:ff:ff', '01:00:5e:00:00:01', '52:54:00:00:00:02']
    found = Discovered({}, Inspection({'interfaces': [{'mac_address': mac} for mac in macs]}, {'redfish': {}}, {}))
    assert found.macs == ['52:54:00:00:00:01', '52:54:00:00:00:02']


@pytest.mark.parametrize(('text', 'addresses'), [
    ('10.0.0.5\n\n https://rack7:1 # the third\n# all\n2001:db8::5', ['10.0.0.5', 'https://rack7:1', '2001:db8::5']),
    ('- redfish_address: a\n  redfish_password: "b#c"\n- {redfish_address: d}\n', ['a', 'd']),
    ('# racks\n---\n- redfish_address: a\n', ['a']),
    ('[{"redfish_address": "a", "redfish_verify_ca": false}]', ['a']),
])  # fmt: skip
def test_files(tmp_path, text, addresses):
    (tmp_path / 'f').write_text(text)
    assert [each['redfish_address'] for each in bmc_files.read(str(tmp_path / 'f'))] == addresses


@pytest.mark.parametrize(('text', 'sentence'), [
    ('', 'It must have a line for the address of each BMC, or a list of objects in YAML.'),
    ('redfish_address: a', 'It must have a line for the address of each BMC, or a list of objects in YAML.'),
    ('10.0.0.5 10.0.0.6', 'entry 1: redfish_address must be a URL with http or https and a host, such as'),
    ('- 10.0.0.5', 'entry 1: It must be an object, as {redfish_address: 10.0.0.5}.'),
    ('- redfish_adress: a', "entry 1: Unknown: redfish_adress. Did you mean 'redfish_address'?"),
    ('- redfish_username: a', 'entry 1: redfish_address is missing.'),
    ('- {redfish_address: a}\n- {redfish_address: a, redfish_password: 5}', 'entry 2: redfish_password must be a str'),
    ('- {a: b', 'while parsing a flow mapping'),
    ('\x80', 'invalid start byte'),
])  # fmt: skip
def test_bad_files(tmp_path, text, sentence):
    (tmp_path / 'f').write_bytes(text.encode('latin-1'))
    with pytest.raises(BadFile) as caught:
        bmc_files.read(str(tmp_path / 'f'))
    assert sentence in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(BadFile, match='No such file or directory'):
        bmc_files.read(str(tmp_path / 'f'))


def test_what_to_install():
    assert extras.missing('redfish', 'archspec', 'sushy') == ''
    sentence = extras.missing('redfish', 'archspec', 'no_such_module')
    assert sentence.startswith('no_such_module is not installed. Run: pip install ')
    assert 'sushy>=' in sentence
