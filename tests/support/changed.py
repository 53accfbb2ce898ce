"""The test modules of a change: those that change, import what changes, or begin with its noun."""

import functools
import pathlib
import re
import subprocess

CHECKOUT = pathlib.Path(__file__).parents[2]
#: Modules that each change concerns.
ALWAYS = {'test_style', 'test_documentation', 'test_contributor_guide'}
#: {beginning of a path: modules whose tests read the files below it}.
READERS = {
    'ironic_traits/resources': {'test_resources', 'test_fields', 'test_versions', 'test_api_ref', 'test_facets'},
    'ironic_traits/api': {'test_api_ref', 'test_gabbits', 'test_description'},
    'ironic_traits/conf': {'test_packaging'},
    'ironic_traits/db/tables': {'test_resources', 'test_migrations'},
    'ironic_traits/policies': {'test_policies', 'test_access', 'test_packaging'},
    'ironic_traits/ui': {'test_ui_files'},
    'alembic': {'test_migrations', 'test_upgrades'},
    'api-ref': {'test_api_ref'},
    'requirements': {'test_supply_chain'},
    'setup.cfg': {'test_supply_chain', 'test_packaging'},
    'tests/functional/gabbits': {'test_gabbits'},
}


@functools.lru_cache
def files(base):
    """Return the paths of the files that differ from a commit, and of the new ones, relative to the checkout."""
    commands = ['diff', '--name-only', base], ['ls-files', '--others', '--exclude-standard']
    run = functools.partial(subprocess.run, check=True, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT)
    return tuple(sorted({path for each in commands for path in run(['git', *each]).stdout.splitlines()}))


def concerns(path, base):
    """Whether the change since a commit concerns a test module.

    :param path: pathlib.Path of the module.
    :param base: name of the commit.
    """
    text, name = path.read_text(), str(path.relative_to(CHECKOUT))
    return path.stem in ALWAYS or name in files(base) or any(_tests(path.stem, text, each) for each in files(base))


def _tests(name, text, changed):
    """Whether a test module, with its name and its text, tests a file."""
    if any(name in modules for beginning, modules in READERS.items() if changed.startswith(beginning)):
        return True
    module = pathlib.PurePath(changed).with_suffix('')
    if module.parts[0] not in ('ironic_traits', 'tests') or not changed.endswith('.py'):
        return False
    noun = module.stem.removesuffix('s')
    package = re.escape('.'.join(module.parts[:-1]))
    imports = rf'from {package} import (\([^)]*|.*)\b{module.stem}\b|{package}\.{module.stem}\b'
    return name.startswith(f'test_{noun}') or re.search(imports, text) is not None
