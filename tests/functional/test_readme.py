"""The tour of README.rst, pasted."""

import os
import pathlib
import re
import subprocess
import sys

from tests.service import Server

README = (pathlib.Path(__file__).parents[2] / 'README.rst').read_text()


def test_the_tour(tmp_path):
    section = re.search(r'\nA tour\n=+\n(.*?)\n\S[^\n]*\n=+\n', README, re.DOTALL)[1]
    lines = [line.strip() for line in section.splitlines() if line.startswith('    ')]
    with Server(None, cwd=tmp_path) as server:
        tour = '\n'.join(lines).replace('http://127.0.0.1:6385', server.base)
        tour = tour.replace('$PWD/.venv/bin', str(pathlib.Path(sys.executable).parent))
        environment = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        done = subprocess.run(['bash', '-e'], input=tour, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert '{"traits":["CUSTOM_FAST","HW_CPU_X86_VMX"]}\n' in done.stdout
    assert '{"nodes":[{"name":"rack1-1"}]}\n{"nodes":[{"name":"rack1-2"}]}\n' in done.stdout
    assert "Did you mean 'HW_CPU_X86_VMX'?" in done.stdout
    assert '"nodes":[{"uuid":"' in done.stdout
    assert '{"drop":["required:CUSTOM_GPU"],"nodes":1}' in done.stdout
    assert "['CUSTOM_FAST', 'HW_CPU_X86_VMX']" in done.stdout
    assert done.stdout.rstrip().endswith('Deleted node rack1-3')
