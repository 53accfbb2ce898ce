"""Machines on which packages are installed."""

import pytest

from tests.support import bare_machine


@pytest.fixture(scope='session')
def bare_debian(tmp_path_factory):
    """An archive from which each ``BareMachine`` is unpacked."""
    path = tmp_path_factory.mktemp('debian') / 'debian.tar'
    bare_machine.pack(path)
    return path
