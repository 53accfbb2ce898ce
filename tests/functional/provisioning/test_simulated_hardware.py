"""Simulated hardware under the names of Ironic's hardware types."""

import json
import subprocess
import sys

import pytest
from oslo_config import cfg

from ironic_traits import conf as options
from ironic_traits.deploy import drivers
from ironic_traits.deploy.simulated_hardware import INTERFACES
from tests.support.client import Client, message
from tests.support.service import finish_work, make_app, upgraded

#: Prints {hardware type: {interface: [whether Ironic uses it by default, its names]}} of Ironic.
_FACTS = """
import importlib.metadata, json
from ironic.conf import CONF
from ironic.drivers import base
CONF([], project='ironic', default_config_files=[])
names = {}
for kind in base.ALL_INTERFACES:
    for each in importlib.metadata.entry_points(group=f'ironic.hardware.interfaces.{kind}'):
        names.setdefault((kind, each.attr), each.name)
def facts(hardware, kind):
    supported = [names.get((kind, each.__name__), '') for each in getattr(hardware, f'supported_{kind}_interfaces')]
    enabled = CONF[f'enabled_{kind}_interfaces'] or supported
    first = CONF[f'default_{kind}_interface'] or next(name for name in supported if name in enabled)
    return [first, sorted(supported)]
types = {each.name: each.load()() for each in importlib.metadata.entry_points(group='ironic.hardware.types')}
print(json.dumps({name: {kind: facts(each, kind) for kind in base.ALL_INTERFACES} for name, each in types.items()}))
"""


@pytest.fixture
def simulated(tmp_path):
    """A client of an application with simulated hardware."""
    url = upgraded(f'sqlite:///{tmp_path}/simulated.sqlite')
    with make_app(url, deploy__simulated_hardware_types=list(INTERFACES)) as app:
        yield Client(app)


def test_interfaces_and_defaults_are_those_of_ironic():
    command = [sys.executable, '-W', 'ignore', '-c', _FACTS]
    facts = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    assert facts.keys() == INTERFACES.keys() | {'fake-hardware'}
    for name, interfaces in INTERFACES.items():
        assert {kind: [names[0], sorted(names)] for kind, names in interfaces.items()} == facts[name], name


@pytest.mark.parametrize('driver', INTERFACES)
def test_a_simulated_node_becomes_active(simulated, driver):
    node = simulated.node(driver=driver)
    assert node['boot_interface'] == 'ipxe'
    for verb in ('manage', 'provide', 'active'):
        response = simulated.ask('PUT', f'/v1/nodes/{node["uuid"]}/states/provision', {'target': verb})
        assert response.status_int == 202, response.text
        finish_work(simulated.app)
    assert simulated.get(f'/v1/nodes/{node["uuid"]}')['provision_state'] == 'active'


def test_names_that_clients_write(simulated):
    """gophercloud and Terraform write these; gophercloud lists the BIOS settings of such a node."""
    node = simulated.node(
        driver='ipmi', boot_interface='ipxe', raid_interface='agent', driver_info={'ipmi_port': '6230'}
    )
    assert node['raid_interface'] == 'agent'
    node = simulated.node(driver='redfish', bios_interface='redfish')
    assert simulated.get(f'/v1/nodes/{node["uuid"]}/bios') == {'bios': []}
    simulated.node(driver='fake-hardware', console_interface='fake-graphical')


def test_an_unknown_interface_is_refused(simulated):
    response = simulated.ask('POST', '/v1/nodes', {'driver': 'ipmi', 'boot_interface': 'redfish-virtual-media'})
    assert response.status_int == 400
    assert "The driver 'ipmi' has no boot interface 'redfish-virtual-media'" in message(response)


def test_the_driver_says_that_it_is_simulated(simulated):
    assert simulated.get('/v1/drivers/redfish')['simulated'] is True
    assert 'simulated' not in simulated.get('/v1/drivers/fake-hardware')
    assert simulated.get('/v1/drivers/redfish?fields=simulated')['simulated'] is True


def test_the_log_names_the_simulated_hardware(simulated, caplog):
    (record,) = [each for each in caplog.get_records('setup') if 'simulated' in each.getMessage()]
    assert record.levelname == 'WARNING'
    assert 'ipmi, intel-ipmi, redfish' in record.getMessage()


@pytest.mark.parametrize(
    ('names', 'text'),
    [
        ('ilo', r'simulated_hardware_types: not known: ilo\. Known are: ipmi, '),
        ('ipmi,fake-hardware', 'not known: fake-hardware'),
    ],
)
def test_a_name_that_cannot_be_simulated(tmp_path, names, text):
    (tmp_path / 'x.conf').write_text(f'[deploy]\nsimulated_hardware_types = {names}\n')
    with pytest.raises(cfg.Error, match=text):
        drivers.load(options.make(['--config-file', str(tmp_path / 'x.conf')]))


def test_a_hardware_type_that_is_real_is_not_simulated(tmp_path):
    (tmp_path / 'x.conf').write_text('[deploy]\nsimulated_hardware_types = redfish\nenabled_hardware_types = redfish\n')
    with pytest.raises(cfg.Error, match=r'redfish is also in enabled_hardware_types\.'):
        drivers.load(options.make(['--config-file', str(tmp_path / 'x.conf')]))
