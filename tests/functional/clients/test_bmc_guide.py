"""The transcripts of the guide of BMCs, with the BMC of sushy-tools."""

import pytest

from tests.functional.clients import test_readme
from tests.functional.clients.test_bmc_commands import emulator

home = test_readme.home
PAGE = test_readme.DOC / 'bmc.rst'


@pytest.fixture
def bmc(monkeypatch):
    monkeypatch.setenv('OS_DEPLOY__ENABLED_HARDWARE_TYPES', 'redfish')
    monkeypatch.setenv('OS_REDFISH__ALLOW_LOCAL_ADDRESSES', 'true')
    with emulator() as url:
        yield url


def test_the_transcripts(home, bmc):
    test_readme.check(PAGE, home, home, home, {'http://127.0.0.1:8000': bmc})
