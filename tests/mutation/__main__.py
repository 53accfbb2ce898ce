"""The command ``python -m tests.mutation``: change code that decides, and print the changes that no test notices."""

import argparse
import sys

from tests.mutation import mutants, runner, survivors, table

#: The modules that decide: who holds a node, which traits it has, which generation, and what the feed says.
MODULES = {
    'inventory/holds': (
        'reserve combined free_nodes reservations allocate allocations group_holds node_guards promised_nodes '
        'promise_claims promise_estimates'
    ),
    'inventory/core': 'eligibility node_providers node_consumers single_node',
    'inventory/traits': 'node_traits trait_store trait_edits',
    'matching': 'promises',
    'changes': 'change_feed',
    'placement': (
        'allocations combined_allocations allocation_checks node_claims provider_traits single_provider inventory_usage'
    ),
}
#: The tests that execute them in this process, and ends of the names of test modules that start programs, or take long.
_PATHS = (
    'holds placement traits nodes search/test_clauses.py search/test_matches.py search/test_statement_counts.py '
    'search/test_topology.py inspection/test_expectations.py provisioning/test_provision.py api/test_access.py '
    'api/test_bad_input.py api/test_conditional.py mirror/test_mirrored_nodes.py mirror/test_mirrored_allocations.py '
    'mirror/test_node_claims.py clients/test_gabbits.py'
)
_LEFT_OUT = 'clients commands model races transfer locked_nodes options'
TESTS = [
    *(f'tests/functional/{path}' for path in _PATHS.split()),
    'tests/unit/test_combined.py',
    'tests/unit/test_promises.py',
    'tests/unit/test_promise_claims.py',
    *(f'--ignore-glob=*_{name}.py' for name in _LEFT_OUT.split()),
]


def main():
    """Run the tests of all mutants. The exit code is 1 if some survive that are not listed."""
    names = [f'ironic_traits/{folder}/{name}.py' for folder, text in MODULES.items() for name in text.split()]
    parser = argparse.ArgumentParser(prog='tests.mutation', description=__doc__)
    parser.add_argument('modules', nargs='*', metavar='module', help='part of its path; all by default')
    parser.add_argument('--jobs', type=int, default=2, help='number of processes')
    parser.add_argument('--seconds', type=float, default=10, help='CPU seconds that the tests of a change may take')
    parser.add_argument('--reuse', action='store_true', help='run only the changes that the last run has left')
    parser.add_argument('--write', action='store_true', help='write the score into doc/source/reliability.rst')
    arguments = parser.parse_args()
    chosen = [name for name in names if not arguments.modules or any(part in name for part in arguments.modules)]
    if arguments.reuse:
        runner.measure_again(names, TESTS)
    else:
        runner.measure(names, TESTS)
    found = [mutant for module in chosen for mutant in mutants.of(runner.CHECKOUT, module)]
    again = [mutant for mutant in found if not (arguments.reuse and survivors.key(mutant) in survivors.listed())]
    killed = runner.killed(again, TESTS, arguments)
    figures = {module: _figures(module, found, killed) for module in chosen}
    if arguments.write:
        table.write(figures)
    return int(any(each['left'] for each in figures.values()))


def _figures(module, found, killed):
    """Return the numbers of the mutants of a module."""
    of_module = [mutant for mutant in found if mutant.module == module]
    alive = [mutant for mutant in of_module if mutant.digest not in killed]
    left = [mutant for mutant in alive if survivors.key(mutant) not in survivors.listed()]
    figures = {
        'mutants': len(of_module),
        'killed': len(of_module) - len(alive),
        'listed': len(alive) - len(left),
        'left': len(left),
    }
    print(module, figures)
    return figures


if __name__ == '__main__':
    sys.exit(main())
