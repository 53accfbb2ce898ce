"""All options, policy rules, versions and commands are documented (routes and failures: test_api_ref)."""

import configparser
import fnmatch
import pathlib
import pkgutil
import re

import pytest

from ironic_traits import conf, policies
from ironic_traits.api import microversions
from ironic_traits.api.placement import microversions as placement_microversions

CHECKOUT = pathlib.Path(__file__).parents[2]
DOC = CHECKOUT / 'doc' / 'source'
REFERENCE = CHECKOUT / 'api-ref' / 'source'
#: The folders that have pages of the site.
FOLDERS = (DOC, DOC / 'contributor', DOC / 'contributor' / 'decisions', DOC / 'api-ref')
#: Modules of ironic_traits.conf without options.
NO_OPTIONS = {'option_types', 'validation'}


@pytest.mark.parametrize('module', sorted({each.name for each in pkgutil.iter_modules(conf.__path__)} - NO_OPTIONS))
def test_every_group_of_options_is_listed(module):
    listed = {each.__name__.rpartition('.')[2] for each in conf.GROUPS}
    assert module in listed, 'Add the module to GROUPS in ironic_traits/conf/__init__.py.'


@pytest.mark.parametrize(
    ('group', 'option'), [(group, each) for group, options in conf.list_opts() for each in options]
)
def test_every_option_has_a_help_text(group, option):
    """The page of all options and the sample configuration are generated from the help texts."""
    assert len(option.help or '') > 15, 'Write a help text in the module of the group in ironic_traits/conf.'
    generator = (CHECKOUT / 'etc' / 'config-generator.conf').read_text()
    assert re.findall('^namespace = (.*)$', generator, re.MULTILINE) == ['ironic_traits']
    assert '.. show-options::' in (DOC / 'configuration.rst').read_text()


@pytest.mark.parametrize('rule', policies.list_rules(), ids=lambda rule: rule.name)
def test_every_rule_has_a_description(rule):
    assert rule.description
    assert '.. show-policy::' in (DOC / 'policy.rst').read_text()


@pytest.mark.parametrize('versions', [microversions, placement_microversions], ids=['baremetal', 'placement'])
def test_every_version_has_a_description(versions):
    documented = re.findall(r'^1\.(\d+) +\S', versions.__doc__, re.MULTILINE)
    every = list(range(versions.MINIMUM, versions.MAXIMUM + 1))
    assert list(map(int, documented)) == every, f'Each version has a row in the docstring of {versions.__file__}.'
    assert any(f'.. automodule:: {versions.__name__}\n' in page.read_text() for page in REFERENCE.glob('*.rst'))


def test_the_site_has_all_pages():
    """Each page of the guides, the API reference and the benchmarks is in a menu of the site."""
    assert (DOC / 'api-ref').resolve() == REFERENCE
    assert '.. include:: ../../benchmarks/README.rst' in (DOC / 'benchmarks.rst').read_text()
    pages = {path for folder in FOLDERS for path in folder.glob('*.rst')}
    listed = {
        path.parent / f'{name}.rst'
        for path in pages
        for menu in re.findall(r'^\.\. toctree::\n(?:   :.*\n)*\n((?:   .+\n)+)', path.read_text(), re.MULTILINE)
        for name in menu.split()
    }
    assert listed == pages - {DOC / 'index.rst'}, 'Each page is in the toctree of an index.rst of its folder.'


def test_every_command_is_documented():
    """The documentation has our programs, and our commands and options of ``openstack`` and ``baremetal``."""
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / 'setup.cfg')
    entry_points = setup['options.entry_points']
    text = (DOC / 'commands.rst').read_text()
    missing = 'Document the command in doc/source/commands.rst'
    for line in entry_points['console_scripts'].strip().splitlines():
        assert f'``{line.partition(" ")[0]}' in text, missing
    for group in ('openstack.baremetal.v1', 'openstack.placement.v1'):
        for line in entry_points[group].strip().splitlines():
            name = line.partition(' ')[0].replace('_', ' ')
            patterns = re.findall(':command: (.*)', text)
            assert any(fnmatch.fnmatch(name, pattern) for pattern in patterns), f'{missing}: {name}'
    for group in entry_points:
        if group.startswith('openstack.cli.'):
            name = group.removeprefix('openstack.cli.').replace('_', ' ')
            assert f'``{name}``' in text or f'``openstack {name}``' in text, f'{missing}: {name}'
