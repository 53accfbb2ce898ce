"""The transcripts of the guides, run with the real clients, a live service, and real keystone, nova and Glance.

With IRONIC_TRAITS_WRITE_SAMPLES=1, the output of the commands is written into the guides.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.support import logs
from tests.support.commands import write_scripts
from tests.support.keystone_client import OPTIONS, SECRET, Keystone
from tests.support.keystone_server import PASSWORD
from tests.support.peers import peer
from tests.support.servers import free_port
from tests.support.service import ForkedServer

#: Keep the lines of stdout and stderr in the order in which a command prints them.
UNBUFFERED = {'PYTHONUNBUFFERED': '1'}
SOURCE = pathlib.Path(__file__).parents[3] / 'doc' / 'source'
#: The guides, in the order in which one shell runs them: later ones use objects of earlier ones.
GUIDES = ('traits', 'capacity')
_BLOCK = re.compile(r'(?<=\.\. code-block:: console\n\n)(?:   .*\n|\n(?=   ))+')
#: A file that the guides show, with its name.
_OPENRC = re.compile(r'^    # (\w+\.openrc)\n((?:    [^#].*\n)+)', re.MULTILINE)


@pytest.fixture(scope='module')
def shell(tmp_path_factory):
    """The shell of a cloud administrator on the host of the service, with the checkout in ``~/ironic-traits``."""
    home, where = tmp_path_factory.mktemp('home'), tmp_path_factory.mktemp('keystone')
    with (
        peer('tests.support.keystone_server', where, free_port()) as url,
        peer('tests.support.glance_server', tmp_path_factory.mktemp('glance'), free_port()) as images,
        peer('tests.support.nova_server', tmp_path_factory.mktemp('nova'), free_port()) as compute,
    ):
        keystone = Keystone(url)
        keystone.user('traits', 'service', 'service')
        keystone.user('runner', 'member', 'ci')
        (home / '.ironic-traits').mkdir()
        conf = home / '.ironic-traits' / 'ironic-traits.conf'
        text = f'[DEFAULT]\nstate_path = {home}\n[api]\nauth_strategy = keystone\n'
        text += f'{OPTIONS.format(url=url, timeout=60)}\n[nova]\nendpoint_override = {compute}/v2.1\n'
        conf.write_text(text)
        for name, text in _OPENRC.findall((SOURCE / 'traits.rst').read_text()):
            password = SECRET if name == 'ci.openrc' else PASSWORD
            text = text.replace('https://keystone.example.org', url).replace('=PASSWORD', f'={password}')
            (home / name).write_text(text)
        shutil.copytree(SOURCE / 'examples', home / 'ironic-traits' / 'doc' / 'source' / 'examples')
        with ForkedServer(None, '--config-file', str(conf), '--debug', '--log-file', f'{home}/log', cwd=home) as server:
            for kind, address in (
                ('baremetal', server.base),
                ('placement', f'{server.base}/placement'),
                ('image', images),
                ('compute', f'{compute}/v2.1'),
            ):
                keystone.serve(kind, address)
            (home / 'ironic-traits' / '.venv').mkdir()
            write_scripts(home / 'ironic-traits' / '.venv' / 'bin')
            with Shell(home) as shell:
                yield shell
        logged = (home / 'log').read_text()
        assert 'keystonemiddleware' in logged
        logs.LOOKER.look(logged)


class Shell:
    """A bash that keeps its variables from command to command.

    :param home: its home and working directory.
    """

    _END = '-- end of the output --'

    def __init__(self, home):
        environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
        installed = str(pathlib.Path(sys.executable).parent)
        path = ':'.join(path for path in environment['PATH'].split(':') if path != installed)
        self._process = subprocess.Popen(
            ['bash'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=home,
            env=environment
            | {'HOME': str(home), 'PATH': path, 'PYTHONWARNINGS': 'ignore', 'COLUMNS': '120', **UNBUFFERED},
        )

    def run(self, command):
        """Run a command without standard input, and return the lines that it prints."""
        self._process.stdin.write(f'{command} <&-\necho "{self._END}"\n')
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.rstrip('\n').endswith(self._END):
                return lines
            lines.append(line.rstrip())
        raise RuntimeError(lines)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def commands(block):
    """Generate (text, command, expected output) of the commands of a transcript."""
    for text in re.split(r'^   \$ ', block, flags=re.MULTILINE)[1:]:
        written = re.match(r'(?:.*\\\n)*.*\n', text)[0]
        printed = [line[3:] for line in text[len(written) :].rstrip('\n').split('\n') if line]
        yield written, written.replace('\\\n', ' '), printed


def as_printed(lines):
    """Return lines without the parts that differ in each run."""
    return [
        re.sub(
            r'(?<=sqlite:///)\S+?\.sqlite|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.+]+|req-[0-9a-f-]+',
            '…',
            line,
        )
        for line in lines
    ]


@pytest.mark.parametrize('name', GUIDES)
def test_the_guide(shell, name):
    guide = SOURCE / f'{name}.rst'
    text, wrong = guide.read_text(), []

    def rewritten(match):
        block = ''
        for written, command, printed in commands(match[0]):
            lines = [line for line in as_printed(shell.run(command.strip())) if line]
            if lines != printed:
                wrong.append((written, lines, printed))
            block += f'   $ {written}' + ''.join(f'   {line}\n' for line in lines)
        return block

    new = _BLOCK.sub(rewritten, text)
    if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
        guide.write_text(new)
        wrong = []
    assert wrong == [], 'With IRONIC_TRAITS_WRITE_SAMPLES=1, this test writes the new output into the guide.'
