"""Each module can be imported first, as in a new process."""

import ast
import graphlib
import pathlib

CHECKOUT = pathlib.Path(__file__).parents[2]


def test_no_cycles():
    """Imports at the top of modules form no cycle. Whether a cycle works depends on the order of the imports."""
    modules = {
        '.'.join(path.relative_to(CHECKOUT).with_suffix('').parts).removesuffix('.__init__'): path
        for package in ('ironic_traits', 'tests', 'benchmarks')
        for path in (CHECKOUT / package).rglob('*.py')
    }
    graph = {name: set(_imports(path, modules)) - {name} for name, path in modules.items()}
    assert 'tests.support.logs' in graph['tests.support.service']
    graphlib.TopologicalSorter(graph).prepare()


def _imports(path, modules):
    """Generate the names of the modules that a module imports at the top."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in modules)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                module = f'{statement.module}.{alias.name}'
                if module in modules or statement.module in modules:
                    yield module if module in modules else statement.module
