"""The machine on which the packages are tried."""

import pytest

from tests.support.bare_machine import BareMachine


def test_it_is_bare_and_ends(bare_debian):
    with BareMachine(bare_debian) as machine:
        (machine.root / 'root' / 'greeting').write_text('Hello')
        assert machine.run('cat greeting - $NAME; systemctl is-system-running', NAME='/etc/hostname').startswith(
            'Hello'
        )
        assert machine.attempt('which python3').returncode == 1
        with pytest.raises(RuntimeError, match=r'No such file'):
            machine.run('ls /nowhere')
    assert not machine.root.exists()
