"""The transcripts of the README and of the guides without keystone and nova, each with its own service.

With IRONIC_TRAITS_WRITE_SAMPLES=1, the output of the commands is written into the pages.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.commands import write_scripts
from tests.support.service import ForkedServer

#: Keep the lines of stdout and stderr in the order in which a command prints them.
UNBUFFERED = {'PYTHONUNBUFFERED': '1'}
CHECKOUT = pathlib.Path(__file__).parents[2]
DOC = CHECKOUT / 'doc' / 'source'
PAGES = [
    CHECKOUT / 'README.rst',
    DOC / 'getting_started.rst',
    DOC / 'filters.rst',
    DOC / 'trait_sources.rst',
    DOC / 'changes.rst',
    DOC / 'trait_edits.rst',
    DOC / 'trait_catalogue.rst',
    DOC / 'inspection.rst',
    DOC / 'inspection_rules.rst',
    DOC / 'node_history.rst',
    DOC / 'reservations.rst',
    DOC / 'placement.rst',
    DOC / 'inventory_files.rst',
    DOC / 'provisioning.rst',
]
_BLOCK = re.compile(r'(?<=\.\. code-block:: console\n\n)(?:   .*\n|\n(?=   ))+')
_COMMAND = re.compile(r'^   \$ (?:.*\\\n)*.*\n', re.MULTILINE)
#: Values that differ in each run: uuids, times, request ids, digests.
_VARIES = re.compile(
    r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|'
    r'\d{4}-\d\d-\d\dT[\d:.+]+|req-[0-9a-f-]+|[0-9a-f]{64}'
)
_END = '-- end of the output --'


def run(commands, server, home):
    """Run commands in one shell, with a service.

    :param commands: texts, as a page shows them.
    :returns: the output of each command, [[line, …], …].
    """
    script = ''.join(f'{{ {command.strip()}\n}} </dev/null\necho "{_END}"\n' for command in commands)
    environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    programs = f'{home / "bin"}:{pathlib.Path(sys.executable).parent}:{environment["PATH"]}'
    environment |= {'PATH': programs, 'HOME': str(home), 'COLUMNS': '120', 'PYTHONWARNINGS': 'ignore', **UNBUFFERED}
    output = (
        subprocess.run(
            ['bash'],
            input=script.replace('http://127.0.0.1:6385', server.base),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=home,
            env=environment,
        )
        .stdout.replace(server.base, 'http://127.0.0.1:6385')
        .replace(str(home), '/home/you')
    )
    return [[line.rstrip() for line in part.split('\n') if line.strip()] for part in output.split(_END)[:-1]]


def normalised(lines):
    """Return lines without their indentation, and without values that differ in each run."""
    return [_VARIES.sub('…', line.strip()) for line in lines]


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_the_transcripts(page, tmp_path):
    text = page.read_text()
    shown = [
        (command[0][5:], [line[3:].rstrip() for line in output.split('\n') if line.strip()])
        for block in _BLOCK.findall(text)
        for command, output in zip(_COMMAND.finditer(block), _COMMAND.split(block)[1:], strict=True)
    ]
    for example in (DOC / 'examples').iterdir():
        shutil.copy(example, tmp_path)
    write_scripts(tmp_path / 'bin')
    with ForkedServer(None, cwd=tmp_path) as server:
        printed = run([command for command, _ in shown], server, tmp_path)
    assert len(printed) == len(shown)
    if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
        _write(page, text, shown, printed)
        return
    for (command, expected), lines in zip(shown, printed, strict=True):
        assert normalised(lines) == normalised(expected), command


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
