"""Which traits machines get from their BMCs: of small trees, and of the trees of real machines where they are found.

With IRONIC_TRAITS_WRITE_SAMPLES=1, the traits are written into tests/data/redfish_traits.yaml, and the table of real
machines into doc/source/bmc_facts.rst. IRONIC_TRAITS_REDFISH_TREES is a directory with trees, or the archive.
"""

import os
import pathlib
import subprocess

import pytest
import yaml

from ironic_traits.redfish import inspections
from tests.support import yaml_files
from tests.support.redfish_kinds import KINDS, ONE
from tests.support.redfish_trees import V1, Documents, Row, rows, rst_table, traits

ROOT = pathlib.Path(__file__).parents[2]
DATA, GUIDE = ROOT / 'tests/data/redfish_traits.yaml', ROOT / 'doc/source/bmc_facts.rst'
GOLDEN = yaml_files.load(DATA) if DATA.is_file() else {}
WRITE = bool(os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'))
#: Where the trees of real machines may be.
ARCHIVES = [parent / 'shared/redfish/trees.tar.xz' for parent in pathlib.Path(__file__).parents]
#: Trees of machines whose documents say nothing of a processor.
WITHOUT_PROCESSOR = {'OpenBMC-stock', 'nvidia_gbswitch'}


def keep(section, found):
    """Write golden lists of traits, if that is wanted."""
    if WRITE:
        GOLDEN[section] = found
        text = yaml.safe_dump(GOLDEN, width=118, default_flow_style=None)
        DATA.write_text('# Written by tests/unit/test_redfish_golden.py.\n' + text)


def test_kinds_of_bmcs():
    found = {kind: inspections.inspect(Documents(tree), V1 + ONE) for kind, tree in KINDS.items()}
    assert {kind: each.unread for kind, each in found.items()} == dict.fromkeys(KINDS, {})
    listed = {kind: traits(each) for kind, each in found.items()}
    keep('kinds', listed)
    assert listed == GOLDEN['kinds']
    for kind, inspection in found.items():
        cpu = inspection.inventory['cpu']
        assert cpu['architecture'] in ('x86_64', 'aarch64')
        assert len(listed[kind]) >= (20 if 'model_name' in cpu else 10), kind


@pytest.fixture(scope='module')
def found(tmp_path_factory):
    """What is known about the real machines: [row, …]."""
    given = os.environ.get('IRONIC_TRAITS_REDFISH_TREES')
    path = next((path for path in ([pathlib.Path(given)] if given else ARCHIVES) if path.exists()), None)
    if path is None:
        pytest.skip('the trees of real machines are not here')
    if path.is_dir():
        return list(rows(path))
    directory = tmp_path_factory.mktemp('trees')
    subprocess.run(['tar', '-xf', path, '-C', directory, '--no-same-owner'], check=True)
    return list(rows(directory / 'trees'))


def test_real_machines(found):
    """The architecture is known, machines with a named CPU have at least 20 traits, and no GPU is the CPU."""
    for row in (row for row in found if isinstance(row, Row) and row.tree not in WITHOUT_PROCESSOR):
        assert row.architecture, row
        assert not row.microarchitecture or not row.processor or len(row.traits) >= 20, row
        assert not {'A100', 'H100', 'H200', 'L40', 'B200', 'MI250X', 'MI300X'} & set(row.processor.split()), row


def test_traits_of_real_machines(found):
    """The golden lists, for the trees that have one."""
    listed = {f'{row.tree} {row.system}': row.traits for row in found if isinstance(row, Row)}
    if not os.environ.get('IRONIC_TRAITS_REDFISH_TREES'):
        keep('machines', listed)
        assert set(listed) == set(GOLDEN['machines'])
    shared = listed.keys() & GOLDEN['machines'].keys()
    assert {name: listed[name] for name in shared} == {name: GOLDEN['machines'][name] for name in shared}


def test_the_table_of_the_guide(found):
    if os.environ.get('IRONIC_TRAITS_REDFISH_TREES'):
        pytest.skip('the table is that of the archive')
    before, begin, rest = GUIDE.read_text().partition('.. begin of the table of trees\n\n')
    _, end, after = rest.partition('\n.. end of the table of trees\n')
    if WRITE:
        GUIDE.write_text(before + begin + rst_table(found) + end + after)
    assert rst_table(found) in GUIDE.read_text()
