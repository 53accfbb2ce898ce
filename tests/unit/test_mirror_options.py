"""Options of mirrors with values for single clouds."""

import pytest
from oslo_config import cfg

from ironic_traits import conf
from ironic_traits.conf.mirror import claims_any_nodes, claims_nodes, write_of


def _conf(tmp_path, *lines):
    (tmp_path / 'mirror.conf').write_text('\n'.join(('[mirror]', *lines)))
    return conf.make(['--config-file', str(tmp_path / 'mirror.conf')])


@pytest.mark.parametrize(('lines', 'berlin', 'paris'), [
    ([], False, False),
    (['write = traits', 'claims = instance_uuid'], True, True),
    (['write_by_cloud = berlin:traits', 'claims_by_cloud = berlin:instance_uuid'], True, False),
    (
        ['write = traits', 'claims = instance_uuid', 'write_by_cloud = a:traits, berlin:nothing',
         'claims_by_cloud = a:instance_uuid, berlin:nothing'],
        False, True,
    ),
])  # fmt: skip
def test_values_of_clouds(tmp_path, lines, berlin, paris):
    options = _conf(tmp_path, *lines)
    for function in (write_of, claims_nodes):
        assert (bool(function(options, 'berlin')), bool(function(options, 'paris'))) == (berlin, paris)
    assert claims_any_nodes(options) == (berlin or paris)


@pytest.mark.parametrize('line', [
    *('write = operator+all', 'write = nothing+rules', 'write_by_cloud = berlin:all', 'write_by_cloud = traits'),
    'claims_by_cloud = berlin:',
])  # fmt: skip
def test_invalid_values(tmp_path, line):
    with pytest.raises(cfg.ConfigFileValueError):
        _conf(tmp_path, line)
