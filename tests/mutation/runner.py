"""Runs the tests of each mutant in a fork of this process, which has imported the libraries that the tests need.

Some code is executed at import: statements of modules, default values, and what these call. For a mutant of such code,
the fork has not imported ``ironic_traits`` yet, and imports the changed module. For the others, it has imported
everything, and only the code of the function changes.
"""

import collections
import contextlib
import gc
import importlib.abc
import importlib.util
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import coverage
import pytest

from tests.mutation.mutants import users

CHECKOUT = pathlib.Path(__file__).parents[2]
_LINES, _KILLED = (CHECKOUT / '.mutation' / name for name in ('lines.json', 'killed'))
_FORK = multiprocessing.get_context('fork')
_PYTEST = ('-q', '--sqlite', '-p', 'no:cacheprovider', '--timeout', '120', '--rootdir', str(CHECKOUT))
#: CPU seconds: tests that take longer are left out; the setup of a test.
_LONGEST, _SETUP = 2.5, 0.1
#: Seconds after which a process that uses no CPU time hangs.
_HANGS = 60
#: A line that fewer tests execute may belong to a statement that is made once: all tests of the module are run.
_FEW = 4


def killed(mutants, tests, options):
    """Return the digests of the mutants that the tests kill.

    :param tests: arguments of pytest that select the tests.
    :param options: those of the command: ``jobs``, the number of processes; ``seconds``, how long the tests of a mutant
        may take together; ``reuse``, whether the mutants that were killed the last time count as killed.
    """
    known = set(_KILLED.read_text().split()) if options.reuse and _KILLED.exists() else set()
    # Written at once, so that a run which is interrupted can continue.
    _KILLED.write_text('\n'.join([*known, '']))
    _Runner(tests, options).run([mutant for mutant in mutants if mutant.digest not in known])
    return set(_KILLED.read_text().split())


class _Runner:
    def __init__(self, tests, options):
        self._tests, self._jobs, self._budget = tests, options.jobs, options.seconds
        found = json.loads(_LINES.read_text())
        self._seconds, self._libraries = found['seconds'], found['libraries']
        self._by_line = {
            module: {int(line): set(tests) for line, tests in lines.items()} for module, lines in found['lines'].items()
        }

    def run(self, mutants):
        """Write the digests of the mutants with which a test fails, or does not end, and print the others.

        :raises RuntimeError: a test fails without a change.
        """
        early = [mutant for mutant in mutants if '' in self._contexts(mutant) or not _is_replaceable(mutant)]
        late = [mutant for mutant in mutants if mutant not in early]
        print(f'{len(early)} and {len(late)} mutants', flush=True)
        _import(self._libraries)
        self._check_unchanged(mutants)
        self._run(early)
        with _silent():
            pytest.main([*_PYTEST, '--collect-only', *self._tests])
        # conftest.py has frozen what exists, which hides it from ``gc.get_objects``.
        gc.unfreeze()
        self._run(late)

    def _run(self, mutants):
        with ThreadPoolExecutor(self._jobs) as pool, _KILLED.open('a') as file:
            are_killed = pool.map(self._is_killed, mutants)
            for mutant, is_killed in zip(mutants, are_killed, strict=True):
                if is_killed:
                    print(mutant.digest, file=file, flush=True)
                else:
                    print(f'{mutant.module} {mutant.function}\n{mutant.change}', flush=True)

    def _is_killed(self, mutant):
        # Their start takes some seconds, too.
        return _is_killed(mutant, self._chosen(mutant), 10 + int(2 * self._budget))

    def _check_unchanged(self, mutants):
        tests = sorted({test for mutant in mutants for test in self._chosen(mutant)})
        if tests and _is_killed(mutants[0]._replace(source=(CHECKOUT / mutants[0].module).read_text()), tests, 3600):
            raise RuntimeError('A test fails without a change.')

    def _contexts(self, mutant):
        """Return the tests that execute the lines of a mutant, and '' if they are executed before the first test."""
        return self._executing(mutant.module, mutant.lines)

    def _executing(self, module, lines):
        return set().union(*(self._by_line[module].get(line, ()) for line in lines))

    def _chosen(self, mutant):
        """Return the tests of a mutant: those that execute its lines first, and the best ones of each file first."""
        of_lines, of_module = self._contexts(mutant), self._by_line[mutant.module]
        numbers = collections.Counter(itertools.chain.from_iterable(of_module.values()))
        if '' in of_lines or 0 < len(of_lines) < _FEW:
            # Also those of the same files that execute no line: they may use a constant of the module.
            files = {test.partition('::')[0] for test in numbers}
            tests = {test for test in self._seconds if test.partition('::')[0] in files}
            # The tests of functions that use what the statement defines come first.
            of_lines = of_lines | self._executing(mutant.module, users(CHECKOUT, mutant.module, mutant.lines))
        else:
            tests = of_lines
        order = {
            test: (test not in of_lines, -numbers[test], self._seconds[test]) for test in tests & self._seconds.keys()
        }
        # The tests of one file are alike: the best of each file come first, then the second best ones.
        ranks, places = {}, collections.Counter()
        for test in sorted(order, key=order.get):
            file = test.partition('::')[0]
            ranks[test] = (test not in of_lines, places[file])
            places[file] += 1
        ordered = sorted(ranks, key=ranks.get)
        sums = itertools.accumulate(_SETUP + self._seconds[test] for test in ordered)
        return [test for test, total in zip(ordered, sums, strict=True) if total <= self._budget]


def _import(names):
    """Import modules. Some can only be imported by others."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def measure(modules, tests):
    """Run the tests, and write which of them execute which lines, how long they take, and what they import.

    :param modules: paths of the modules that will be changed.
    :param tests: arguments of pytest that select the tests.
    """
    process = _FORK.Process(target=_measure, args=(modules, tests))
    process.start()
    process.join()


def measure_again(modules, tests):
    """Measure the tests of the test modules that are new, or have changed, since the last measurement.

    If a module has changed, measure all tests: its lines have other numbers.

    :param modules: as for ``measure``.
    :param tests: as for ``measure``.
    """
    measured = _LINES.stat().st_mtime if _LINES.exists() else 0
    if any((CHECKOUT / name).stat().st_mtime > measured for name in modules):
        measure(modules, tests)
        return
    found = json.loads(_LINES.read_text())
    known = {test.partition('::')[0] for test in found['seconds']}
    new = set(_files(tests)) - known
    changed = sorted(new.union(name for name in known if (CHECKOUT / name).stat().st_mtime > measured))
    if not changed:
        return
    measure(modules, changed)
    new = json.loads(_LINES.read_text())
    for module, lines in found['lines'].items():
        now = new['lines'].get(module, {})
        for line in lines.keys() | now.keys():
            kept = [test for test in lines.get(line, ()) if test.partition('::')[0] not in changed]
            lines[line] = kept + now.get(line, [])
    kept = {test: each for test, each in found['seconds'].items() if test.partition('::')[0] not in changed}
    _LINES.write_text(json.dumps(found | {'seconds': kept | new['seconds']}))


def _files(tests):
    """Yield the names of the test modules that arguments of pytest select, without those that they ignore."""
    left_out = [each.removeprefix('--ignore-glob=') for each in tests if each.startswith('--ignore-glob=')]
    for selected in filter(pathlib.Path.exists, map(CHECKOUT.joinpath, tests)):
        for path in selected.rglob('test_*.py') if selected.is_dir() else [selected]:
            if not any(path.match(pattern) for pattern in left_out):
                yield str(path.relative_to(CHECKOUT))


def _measure(modules, tests):
    measured = coverage.Coverage(data_file=None, config_file=False, include=[str(CHECKOUT / name) for name in modules])
    seconds = {}

    class Contexts:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item):
            measured.switch_context(item.nodeid)
            self.began = time.process_time()
            return (yield)

        def pytest_runtest_logreport(self, report):
            if report.when == 'call' and report.passed:
                seconds[report.nodeid] = round(time.process_time() - self.began, 2)

    with measured.collect():
        pytest.main([*_PYTEST, *tests], plugins=[Contexts()])
    by_line = {name: measured.get_data().contexts_by_lineno(str(CHECKOUT / name)) for name in modules}
    libraries = [name for name in sys.modules if name.split('.')[0] not in ('ironic_traits', 'tests', '__main__')]
    fast = {test: each for test, each in seconds.items() if each <= _LONGEST}
    _LINES.parent.mkdir(exist_ok=True)
    _LINES.write_text(json.dumps({'lines': by_line, 'seconds': fast, 'libraries': libraries}))


def _is_killed(mutant, tests, seconds):
    """Whether a test fails, or the tests do not end within some CPU seconds. A busy machine may give them slowly."""
    if not tests:
        return False
    process = _FORK.Process(target=_test, args=(mutant, tests, seconds))
    process.start()
    _wait(process, 20 * seconds)
    process.kill()
    process.join()
    return process.exitcode != 0


def _wait(process, seconds):
    """Wait until a process ends, but not longer, and not if it hangs: it has used no CPU time for a minute."""
    end, used, before = time.monotonic() + seconds, _cpu_time(process.pid), None
    while time.monotonic() < end and process.is_alive() and used != before:
        process.join(_HANGS)
        used, before = _cpu_time(process.pid), used


def _cpu_time(pid):
    with contextlib.suppress(FileNotFoundError):
        # After the name of the program, which may have spaces: the time in this process, and in the kernel for it.
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[11:13]


def _test(mutant, tests, seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with _silent():
        name = mutant.module.removesuffix('.py').replace('/', '.')
        if name in sys.modules:
            _replace(mutant)
        else:
            sys.meta_path.insert(0, _Changed(name, mutant))
        os._exit(pytest.main([*_PYTEST, '-x', *tests], plugins=[_Order(tests)]))


def _replace(mutant):
    """Replace the code of the functions that the mutant changes."""
    path = str(CHECKOUT / mutant.module)
    codes = {_place(code): code for code in _codes(compile(mutant.source, path, 'exec'))}
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == path:
            each.__code__ = codes.get(_place(each.__code__), each.__code__)


def _is_replaceable(mutant):
    """Whether the code of the changed function fits to the function: not if it has lost its ``super()``."""
    original = (CHECKOUT / mutant.module).read_text()
    before, after = (_codes(compile(source, mutant.module, 'exec')) for source in (original, mutant.source))
    names, changed = ({(code.co_qualname, code.co_freevars) for code in codes} for codes in (before, after))
    return {each for each in names if '<locals>' not in each[0]} == {
        each for each in changed if '<locals>' not in each[0]
    }


def _codes(code):
    """Yield the code objects within another."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def _place(code):
    return code.co_qualname, code.co_firstlineno, code.co_freevars


@contextlib.contextmanager
def _silent():
    sys.stdout.flush()
    kept, nothing = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    yield
    os.dup2(kept[0], 1)
    os.dup2(kept[1], 2)


class _Order:
    def __init__(self, tests):
        self._places = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self._places[item.nodeid])


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the module of a mutant."""

    def __init__(self, name, mutant):
        self._name, self._mutant = name, mutant

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, CHECKOUT / self._mutant.module, loader=self)

    def get_source(self, name):
        return self._mutant.source
