"""The units of systemd run with few permissions."""

import subprocess

import pytest

from tests.support.checkout import CHECKOUT
from tests.support.servers import program, require

UNITS = sorted((CHECKOUT / 'etc').glob('*.service'))
#: systemd rates a unit from 0, the safest, to 100.
MOST_EXPOSED = 20


@pytest.mark.parametrize('unit', UNITS, ids=lambda path: path.stem)
def test_few_permissions(unit):
    require(program('systemd-analyze'), 'systemd-analyze is not installed')
    command = ['systemd-analyze', 'security', '--offline=true', f'--threshold={MOST_EXPOSED}', unit]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_permissions():
    """The page about deployment shows them once, because they are equal."""
    parts = {path.stem: path.read_text().partition('# Hardening')[2] for path in UNITS}
    assert list(parts) == ['ironic-traits-api', 'ironic-traits-mirror', 'ironic-traits-worker']
    assert len(set(parts.values())) == 1
    assert all(parts.values())
