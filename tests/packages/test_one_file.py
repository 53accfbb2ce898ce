"""The service as one file on a bare Debian, beside an Ironic, with the commands of the guide."""

import shutil

import pytest

from tests.support import checkout, guides, zipapp
from tests.support.bare_machine import BareMachine
from tests.support.concurrency import wait_until

GUIDE = checkout.CHECKOUT / 'doc' / 'source' / 'installation.rst'
CLOUDS = 'clouds: {{berlin: {{auth_type: none, auth: {{endpoint: "{}"}}}}}}'


@pytest.fixture(scope='module')
def machine(bare_debian, tmp_path_factory):
    path = tmp_path_factory.mktemp('zipapp') / 'ironic-traits.pyz'
    zipapp.write(path)
    with BareMachine(bare_debian) as machine:
        shutil.copy(path, machine.root / 'root')
        yield machine


def test_the_guide(machine, ironic):
    folder = machine.root / 'root' / '.config' / 'openstack'
    folder.mkdir(parents=True)
    (folder / 'clouds.yaml').write_text(CLOUDS.format(ironic))
    *steps, (_, last, output) = guides.steps(guides.section(GUIDE, 'In one file'))
    assert len(steps) < 12
    for _, command, _ in steps:
        machine.run(command)
    # The mirror starts after the API.
    wait_until(lambda: machine.run(last).strip() == output.strip(), 60)


def test_its_processes_end_together(machine):
    machine.run('pkill --full --oldest ironic-traits')
    wait_until(lambda: 'ironic-traits' not in machine.run('ps ax'))
