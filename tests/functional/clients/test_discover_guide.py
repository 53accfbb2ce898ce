"""The transcript of the guide about discovery, with real commands, a service, and BMCs on addresses of this machine.

With IRONIC_TRAITS_WRITE_SAMPLES=1, the output of the commands is written into the guide.
"""

import contextlib
import os
import pathlib
import re
import ssl

import pytest

from tests.functional.clients.test_guides import commands
from tests.functional.clients.test_readme import run
from tests.support import certificates
from tests.support.bmc_server import PASSWORD, serving, tree
from tests.support.commands import write_scripts
from tests.support.redfish_trees import to
from tests.support.servers import free_port
from tests.support.service import ForkedServer

GUIDE = pathlib.Path(__file__).parents[3] / 'doc/source/discover.rst'
_BLOCK = re.compile(r'(?<=\.\. code-block:: console\n\n)(?:   .*\n|\n(?=   ))+')
#: (last byte of the address, properties of the System, MAC addresses).
MACHINES = (
    (5, {'Manufacturer': 'Dell Inc.', 'Model': 'PowerEdge R750', 'UUID': '4C4C4544-0035-3410-8050-C6C04F314733'}, 2),
    (6, {'Manufacturer': 'HPE', 'Model': 'ProLiant DL385', 'UUID': '34383350-3131-584D-5133-303230393953'}, 2),
    (7, {'Manufacturer': 'Supermicro', 'Model': 'SYS-120C', 'UUID': '03000200-0400-0500-0006-000700080009'}, 1),
    (8, {'Manufacturer': 'HPE', 'Model': 'ProLiant DL385', 'UUID': '34383350-3131-584D-5133-303230393954'}, 1),
)
#: The password of the last BMC.
OTHER = 'of-this-BMC'
RACK = f"""\
- redfish_address: 10.0.0.5
- redfish_address: 10.0.0.8
  redfish_username: operator
  redfish_password: {OTHER}
"""


@pytest.fixture
def port(tmp_path):
    """The port of the BMCs at 127.9.2.5 to 127.9.2.8. The last one has another password."""
    port = free_port()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.self_signed(tmp_path, '127.9.2.1'))
    with contextlib.ExitStack() as stack:
        for number, properties, nics in MACHINES:
            documents = tree(**properties)
            members = documents['/Systems/1/EthernetInterfaces']['Members'] = []
            for nic in range(nics):
                members.append(to(f'/Systems/1/EthernetInterfaces/{nic}'))
                mac = f'52:54:00:00:0{number}:0{nic}'
                documents[f'/Systems/1/EthernetInterfaces/{nic}'] = {'Id': str(nic), 'MACAddress': mac}
            server = stack.enter_context(serving(documents, context, (f'127.9.2.{number}', port)))
            server.password = OTHER if number == 8 else PASSWORD
        yield port


def test_the_guide(tmp_path, port):
    text = GUIDE.read_text()
    transcript = [each for block in _BLOCK.findall(text) for each in commands(block)]
    local = f'127.9.2.\\1:{port}'
    (tmp_path / 'rack.yaml').write_text(RACK)
    (tmp_path / 'local.yaml').write_text(re.sub(r'10\.0\.0\.(\d)', local, RACK))
    (tmp_path / 'a.conf').write_text('[deploy]\nenabled_hardware_types = redfish\n')
    write_scripts(tmp_path / 'bin')
    variables = f'export PATH={tmp_path}/bin:$PATH OS_AUTH_TYPE=none OS_ENDPOINT=http://127.0.0.1:6385'
    first = f'{variables} REDFISH_PASSWORD={PASSWORD}'
    given = [written.replace('10.0.0.0/28', f'127.9.2.0/28 --port {port}') for written, _, _ in transcript]
    given = [each.replace('--file rack.yaml', '--file local.yaml') for each in given]
    with ForkedServer(None, '--config-file', 'a.conf', '--nostart-worker', cwd=tmp_path) as server:
        _, *printed = run([first, *given], {'http://127.0.0.1:6385': server.base}, tmp_path, tmp_path)
    # The addresses of the guide are seven characters shorter.
    assert len(str(port)) == 5
    changes = ((f'127\\.9\\.2\\.(\\d):{port}', '10.0.0.\\1'), (r'^\+-{7}', '+'), (r'^\| Address {7}', '| Address'))
    for pattern, new in changes:
        printed = [[re.sub(pattern, new, line) for line in lines] for lines in printed]
    if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
        outputs = iter(printed)

        def rewritten(match):
            lines = ((f'$ {written.rstrip()}', *next(outputs)) for written, _, _ in commands(match[0]))
            return ''.join(f'   {line}\n' for each in lines for line in each)

        GUIDE.write_text(_BLOCK.sub(rewritten, text))
        return
    hint = 'With IRONIC_TRAITS_WRITE_SAMPLES=1, this test writes the new output into the guide.'
    assert printed == [lines for _, _, lines in transcript], hint
