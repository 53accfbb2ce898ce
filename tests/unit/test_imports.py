"""Each module can be imported first, as in a new process."""

import ast
import graphlib
import pathlib

from tests.support import syntax

CHECKOUT = pathlib.Path(__file__).parents[2]


def test_no_cycles():
    """Imports at the top of modules form no cycle. Whether a cycle works depends on the order of the imports."""
    modules = {
        '.'.join(path.relative_to(CHECKOUT).with_suffix('').parts).removesuffix('.__init__'): path
        for package in ('ironic_traits', 'tests', 'benchmarks')
        for path in (CHECKOUT / package).rglob('*.py')
    }
    trees = syntax.trees(path.read_text() for path in modules.values())
    graph = {name: set(_imports(tree, modules)) - {name} for name, tree in zip(modules, trees, strict=True)}
    assert 'tests.support.logs' in graph['tests.support.service']
    graphlib.TopologicalSorter(graph).prepare()


def _imports(tree, modules):
    """Generate the names of the modules that a module imports at the top."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in modules)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                module = f'{statement.module}.{alias.name}'
                if module in modules or statement.module in modules:
                    yield module if module in modules else statement.module
