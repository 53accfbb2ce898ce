"""Each module can be imported first, as in a new process, and the packages stay on their floors."""

import ast
import collections
import graphlib
import pathlib
import re

import pytest

from tests.support import syntax

CHECKOUT = pathlib.Path(__file__).parents[2]
ARCHITECTURE = CHECKOUT / 'doc/source/contributor/architecture.rst'
#: Maximum number of modules of a package.
_MAX_MODULES = 25
#: Packages with a module for each noun of the API.
_NOUNS = ('ironic_traits.api.v1', 'ironic_traits.policies')


@pytest.fixture(scope='module')
def graph():
    """All imports, also those in functions and for annotations: {module: modules that it imports}."""
    modules = {
        '.'.join(path.relative_to(CHECKOUT).with_suffix('').parts).removesuffix('.__init__'): path
        for package in ('ironic_traits', 'tests', 'benchmarks')
        for path in (CHECKOUT / package).rglob('*.py')
    }
    trees = syntax.trees(path.read_text() for path in modules.values())
    return {name: set(_imports(tree, modules)) - {name} for name, tree in zip(modules, trees, strict=True)}


def _imports(tree, modules):
    """Generate the names of the modules that a module imports."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in modules)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                module = f'{statement.module}.{alias.name}'
                if module in modules or statement.module in modules:
                    yield module if module in modules else statement.module


def test_no_circles(graph):
    """Imports form no circle. Whether a circle works depends on the order of the imports."""
    assert 'tests.support.logs' in graph['tests.support.service']
    graphlib.TopologicalSorter(graph).prepare()


def test_no_package_imports_from_one_above_it(graph):
    """The floors are the rows of the first table of the architecture."""
    table = ARCHITECTURE.read_text().split('\n====')[2:5]
    floors = {
        package: number
        for number, row in enumerate(re.split(r'\n(?=``\S+``,? {2,})', '\n'.join(table)))
        for package in re.findall(r'^``(ironic_traits[\w.]*)``', row, re.MULTILINE)
    }
    assert len(floors) > 30
    without = {_package(module, graph) for module in graph if module.startswith('ironic_traits.')} - floors.keys()
    # The modules of ironic_traits itself serve several floors; ironic_traits.inventory has only its rooms.
    assert without == {'ironic_traits', 'ironic_traits.inventory'}
    assert not [
        module
        for module in graph
        if module.rpartition('.')[0] == 'ironic_traits.inventory' and _package(module, graph) != module
    ]
    upward = [
        (module, imported)
        for module, imports in graph.items()
        for imported in imports
        if floors.get(_package(module, graph), -1) > floors.get(_package(imported, graph), 99)
    ]
    assert upward == []


def _package(module, graph):
    """Return the package of a module."""
    is_package = any(name.startswith(f'{module}.') for name in graph)
    return module if is_package else module.rpartition('.')[0]


def test_no_package_is_too_large(graph):
    modules = [name for name in graph if name.startswith('ironic_traits.') and _package(name, graph) != name]
    sizes = collections.Counter(name.rpartition('.')[0] for name in modules)
    large = [name for name, size in sizes.items() if size > _MAX_MODULES and name not in _NOUNS]
    assert large == []
