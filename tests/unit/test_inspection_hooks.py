"""On random and hostile data, inspection hooks fail with a message, or return data that can be stored."""

import hypothesis
import orjson
import pytest
from hypothesis import strategies as st
from oslo_config import cfg

from ironic_traits import conf
from ironic_traits.deploy import base, inspection_data, inspection_hooks, root_devices
from tests.support.inspections import MACS, ramdisk_data
from tests.support.lldp import switch

GIB = 2**30
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
HINTS = st.sampled_from(
    ['<or> a <or> b', '>= 10', 's== x', '<in> a', '<all-in> a b', '<range-in> [ 1 2 ]', '<or>', '< x']
)


def disturbed(parts):
    """Return a strategy of objects that have random values for some keys."""
    return st.fixed_dictionaries({}, optional={name: VALUES | st.just(value) for name, value in parts.items()})


DATA = ramdisk_data(*MACS)
INTERFACE = DATA['inventory']['interfaces'][0] | {
    'ipv6_address': 'fe80::1%eth0',
    'client_id': 'ff:01',
    'lldp': switch(),
}
INVENTORIES = disturbed(
    DATA['inventory'] | {'interfaces': [INTERFACE], 'cpu': DATA['inventory']['cpu'], 'bmc_address': '198.51.100.1'}
) | st.fixed_dictionaries(
    {
        'interfaces': st.lists(disturbed(INTERFACE), max_size=3),
        'disks': st.lists(disturbed(DATA['inventory']['disks'][0]), max_size=2),
        'cpu': disturbed(DATA['inventory']['cpu']),
        'memory': disturbed(DATA['inventory']['memory']),
        'boot': disturbed({'current_boot_mode': 'uefi', 'pxe_interface': f'01-{MACS[0].replace(":", "-")}'}),
    }
)
PLUGIN_DATA = disturbed({'root_disk': {'size': GIB}, 'error': None, 'parsed_lldp': {}}) | st.fixed_dictionaries(
    {
        'pci_devices': st.lists(
            disturbed({'vendor_id': '10de', 'product_id': '1eb8', 'bus': '0000:01:00.0'}), max_size=3
        ),
        'lldp_raw': disturbed({'eth0': [[1, '04'], [2, 'zz']]}),
        'data': st.lists(st.lists(VALUES | st.just('disk'), max_size=5), max_size=3),
    }
)
PROPERTIES = disturbed({'root_device': {'size': 100}, 'capabilities': 'a:b,c', 'skip_block_devices': [{'size': 1}]})
HINT_OBJECTS = st.dictionaries(
    st.sampled_from(['size', 'rotational', 'model', 'name', 'wwn', 'nope']), VALUES | HINTS, min_size=1
)


@pytest.fixture(scope='module')
def options():
    settings = conf.make(['--database', 'sqlite://'])
    settings.set_override('hooks', list(inspection_hooks.HOOKS), group='inspection')
    return settings.inspection


@hypothesis.settings(max_examples=100, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(INVENTORIES, PLUGIN_DATA, PROPERTIES)
def test_random_data(options, inventory, plugin_data, properties):
    document = {'inventory': inventory, 'plugin_data': plugin_data}
    try:
        findings = inspection_hooks.run(options, 'uuid', properties, document, document)
    except base.WorkFailed as failure:
        findings, reason = None, str(failure)
    if findings is None:
        assert reason.startswith('Failed to finish inspection: ')
        return
    assert orjson.dumps([findings.properties, findings.plugin_data, dict(findings.ports.added), findings.ports.links])
    assert document == {'inventory': inventory, 'plugin_data': plugin_data}


@pytest.mark.parametrize('text', ['x' * 256, 'bios,a:b'])
def test_texts_that_are_no_values(options, text):
    """A ramdisk, which is not authenticated, cannot fill fields of nodes and ports, or set other capabilities."""
    interface = INTERFACE | {'client_id': text}
    inventory = DATA['inventory'] | {'boot': {'current_boot_mode': text}, 'interfaces': [interface]}
    findings = inspection_hooks.run(options, 'uuid', {}, {'inventory': inventory, 'plugin_data': {}})
    assert 'boot_mode' not in findings.properties.get('capabilities', '')
    ((_, port),) = findings.ports.added.items()
    ids = {'client-id': text} if len(text) < 256 else {}
    assert (port['extra'], list(findings.ports.client_ids.values())) == (ids, list(ids.values()))


@hypothesis.settings(max_examples=100, derandomize=True)
@hypothesis.given(HINT_OBJECTS, st.lists(disturbed(DATA['inventory']['disks'][0]), max_size=3))
def test_random_hints(hints, disks):
    try:
        disk = root_devices.choose(disks, {'root_device': hints})
    except root_devices.InvalidHints:
        return
    assert disk is None or disk in disks


@hypothesis.settings(max_examples=100, derandomize=True)
@hypothesis.given(VALUES | disturbed({'inventory': {}, 'plugin_data': {}}))
def test_random_documents(document):
    for read in (inspection_data.read_ramdisk_data, inspection_data.read_client_data):
        try:
            data = read(document)
        except inspection_data.Invalid:
            continue
        assert data.document.keys() == {'inventory', 'plugin_data'}
        assert isinstance(data.macs + data.bmc_addresses, list)


def test_all_hooks_are_options():
    (hooks,) = (option for option in conf.inspection.OPTIONS if option.name == 'hooks')
    assert list(inspection_hooks.HOOKS) == list(hooks.type.item_type.choices)


def test_hooks_of_a_file_of_ironic(tmp_path):
    """The option takes Ironic's $default_hooks. A hook that is there twice runs once."""
    path = tmp_path / 'x.conf'
    path.write_text('[inspection]\nhooks = $default_hooks, extra-hardware, parse-lldp, extra-hardware\n')
    options = conf.make(['--database', 'sqlite://', '--config-file', str(path)]).inspection
    default = conf.make(['--database', 'sqlite://']).inspection.hooks
    assert options.hooks == [*default, 'extra-hardware', 'parse-lldp', 'extra-hardware']
    document = {'inventory': DATA['inventory'], 'plugin_data': {'data': [['cpu', 'a', 'b', '1']]}}
    findings = inspection_hooks.run(options, 'uuid', {}, document)
    assert findings.plugin_data['extra'] == {'cpu': {'a': {'b': 1}}}


INVALID = {
    'hooks': ['$default_hooks,nope'],
    'physical_network_cidr_map': ['10.0.0.1/8:net', '10.0.0.0/8', '10.0.0.0/8:', f'10.0.0.0/8:{"x" * 65}', ':net'],
    'pci_device_alias': [
        *('{', '[]', '{"vendor_id": "1", "name": "a"}', '{"vendor_id": "1", "product_id": "2", "name": "a,b"}'),
        '{"vendor_id": 1, "product_id": "2", "name": "a"}',
    ],
    'known_accelerators': ['/nowhere/x.yaml', __file__],
}


@pytest.mark.parametrize(('name', 'value'), [(name, value) for name, values in INVALID.items() for value in values])
def test_invalid_options(tmp_path, name, value):
    """The service does not start."""
    path = tmp_path / 'x.conf'
    path.write_text(f'[inspection]\n{name} = {value}\n')
    with pytest.raises(cfg.ConfigFileValueError, match=name):
        conf.make(['--database', 'sqlite://', '--config-file', str(path)])


@pytest.mark.parametrize('text', ['pci_devices: 1', 'pci_devices: [1]', 'pci_devices: [{vendor_id: "1"}]', '[', '"a"'])
def test_invalid_accelerators(tmp_path, text):
    path = tmp_path / 'accelerators.yaml'
    path.write_text(text)
    test_invalid_options(tmp_path, 'known_accelerators', path)
