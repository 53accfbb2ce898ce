"""The transcripts of the README and of the guides without keystone and nova, followed as a reader does.

The home of the reader has the installed checkout, ``~/ironic-traits``, and nothing else. The service and the commands
run where the page says.

With IRONIC_TRAITS_WRITE_SAMPLES=1, the output of the commands is written into the pages.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest

from tests.support.commands import write_scripts
from tests.support.service import ForkedServer

#: Keep the lines of stdout and stderr in the order in which a command prints them.
UNBUFFERED = {'PYTHONUNBUFFERED': '1'}
CHECKOUT = pathlib.Path(__file__).parents[3]
DOC = CHECKOUT / 'doc' / 'source'
#: Guides for a cloud of several services, for bare machines, or with BMCs. Other tests run their commands.
CLOUDS = (
    'beside-ironic',
    'bmc',
    'booting',
    'capacity',
    'discover',
    'installation',
    'moving-placement',
    'nova',
    'traits',
)
GUIDES = [
    page
    for page in sorted(DOC.glob('*.rst'))
    if 'code-block:: console' in page.read_text() and page.stem not in (*CLOUDS, 'getting_started')
]
#: These pages begin in the checkout.
FIRST = [CHECKOUT / 'README.rst', DOC / 'getting_started.rst']
#: How each guide begins.
BEGINNING = """
Start a service for this guide, in a new folder with the files of the examples. (``~/ironic-traits`` is your checkout,
installed as in :doc:`getting_started`. Stop a service that you have started before.) ::

    mkdir -p ~/guides/{name} && cd ~/guides/{name} && cp ~/ironic-traits/doc/source/examples/* .
    ~/ironic-traits/.venv/bin/ironic-traits-api

Run the commands of this page in another terminal:

.. code-block:: console

   $ cd ~/guides/{name} && export PATH=~/ironic-traits/.venv/bin:$PATH
   $ export OS_AUTH_TYPE=none OS_ENDPOINT=http://127.0.0.1:6385
"""
_SERVICE = re.compile(r'::\n\n((?:    .*\n)*)    \S*/bin/ironic-traits-api\n')
_BLOCK = re.compile(r'(?<=\.\. code-block:: console\n\n)(?:   .*\n|\n(?=   ))+')
_COMMAND = re.compile(r'^   \$ (?:.*\\\n)*.*\n', re.MULTILINE)
#: Values that differ in each run: uuids, times, request ids, digests. A time at a whole second, which one in a thousand
#: is on SQLite, has no fraction of seven characters, and so many more spaces behind it in a table.
_VARIES = re.compile(
    r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|'
    r'\d{4}-\d\d-\d\dT(?:[\d:+]+ {7}(?= \|)|[\d:.+]+)|req-[0-9a-f-]+|[0-9a-f]{64}'
)
_END = '-- end of the output --'


@pytest.fixture
def home(tmp_path):
    """The home of a reader who has done what the README says, and nothing else."""
    checkout = tmp_path / 'ironic-traits'
    shutil.copytree(DOC / 'examples', checkout / 'doc' / 'source' / 'examples')
    (checkout / '.venv').mkdir()
    write_scripts(checkout / '.venv' / 'bin')
    return tmp_path


def shell(script, cwd, home):
    """Run a script in a new terminal of the reader, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    installed = str(pathlib.Path(sys.executable).parent)
    programs = ':'.join(path for path in environment['PATH'].split(':') if path != installed)
    environment |= {'PATH': programs, 'HOME': str(home), 'COLUMNS': '120', 'PYTHONWARNINGS': 'ignore', **UNBUFFERED}
    return subprocess.run(
        ['bash'], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=environment
    ).stdout


def run(commands, replacements, cwd, home):
    """Run commands in one shell, with a service.

    :param commands: texts, as a page shows them.
    :param replacements: {URL in the texts: the URL that is meant}.
    :returns: the output of each command, [[line, …], …].
    """
    script = ''.join(f'{{ {command.strip()}\n}} </dev/null\necho "{_END}"\n' for command in commands)
    for shown, meant in replacements.items():
        script = script.replace(shown, meant)
    output = shell(script, cwd, home).replace(str(home), '/home/you')
    for shown, meant in replacements.items():
        output = output.replace(meant, shown)
    return [[line.rstrip() for line in part.split('\n') if line.strip()] for part in output.split(_END)[:-1]]


def normalised(lines):
    """Return lines without their indentation, and without values that differ in each run."""
    return [_VARIES.sub('…', line.strip()) for line in lines]


@pytest.mark.parametrize('page', GUIDES, ids=lambda page: page.stem)
def test_the_beginning(page):
    """All guides begin with the same words."""
    assert BEGINNING.format(name=page.stem) in page.read_text()


@pytest.mark.parametrize('page', [*FIRST, *GUIDES], ids=lambda page: page.stem)
def test_the_transcripts(page, home):
    before = home / 'ironic-traits' if page in FIRST else home
    start = '' if page in FIRST else _SERVICE.search(page.read_text())[1]
    check(page, home, before, shell(f'{start}pwd', before, home).splitlines()[-1])


def check(page, home, before, cwd, replacements=types.MappingProxyType({})):
    """Run the commands of a page with a service, and compare what they print.

    :param before: directory in which the commands begin.
    :param cwd: directory of the service.
    :param replacements: as for ``run``.
    """
    with ForkedServer(None, cwd=cwd) as server:
        compare(page, home, before, {**replacements, 'http://127.0.0.1:6385': server.base})


def compare(page, home, before, replacements):
    """Run the commands of a page, and compare what they print. The parameters are those of ``check``."""
    text = page.read_text()
    shown = [
        (command[0][5:], [line[3:].rstrip() for line in output.split('\n') if line.strip()])
        for block in _BLOCK.findall(text)
        for command, output in zip(_COMMAND.finditer(block), _COMMAND.split(block)[1:], strict=True)
    ]
    printed = run([command for command, _ in shown], replacements, before, home)
    assert len(printed) == len(shown)
    if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
        _write(page, text, shown, printed)
        return
    for (command, expected), lines in zip(shown, printed, strict=True):
        hint = f'{command}: IRONIC_TRAITS_WRITE_SAMPLES=1 pytest {pathlib.Path(__file__).name} writes the new output.'
        assert normalised(lines) == normalised(expected), hint


def _write(page, text, shown, printed):
    """Write the output of the commands into their page, if it changed."""
    results = iter(zip(shown, printed, strict=True))

    def rewritten(match):
        block = ''
        for command in _COMMAND.finditer(match[0]):
            (_, expected), lines = next(results)
            same = normalised(lines) == normalised(expected)
            block += command[0] + ''.join(f'   {line}\n' for line in (expected if same else lines))
        return block

    page.write_text(_BLOCK.sub(rewritten, text))
