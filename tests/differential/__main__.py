"""Compare with a real service: python -m tests.differential ironic|placement [--requests N] [--seed S].

Print the figures, and the unexplained differences by kind, with the shortest sequence that shows each. The exit code is
1 if there are any.
"""

import argparse
import logging
import math
import sys
import time

from tests.differential import page, runs, shrinking


def main():
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog='python -m tests.differential', description=__doc__)
    parser.add_argument('service', choices=runs.APIS)
    parser.add_argument('--requests', type=int, default=100_000)
    parser.add_argument('--minutes', type=float, default=math.inf, help='end the run, with fewer requests')
    parser.add_argument('--seed', default=str(int(time.time())))
    parser.add_argument('--kinds', type=int, default=40, help='number of kinds of differences to print')
    parser.add_argument('--quick', action='store_true', help='do not search for the shortest sequences')
    parser.add_argument('--write', action='store_true', help='write the figures into doc/source/reliability.rst')
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f'seed {arguments.seed}', flush=True)
    figures = runs.search(arguments.service, arguments.requests, arguments.seed, arguments.minutes)
    if not arguments.quick:
        shrinking.shrink(arguments.service, figures, arguments.kinds)
    for kind, number in figures.kinds.most_common(arguments.kinds):
        shown = figures.examples[kind][0][-1 if arguments.quick else 0 :]
        print(f'{number}: {kind}', *shown, sep='\n    ')
    print(f'{figures.requests} requests in {figures.seconds:.0f} s: {dict(figures.statuses)}')
    print(f'{sum(figures.explained.values())} explained differences, {len(figures.kinds)} unexplained kinds')
    if arguments.write:
        page.store(arguments.service, arguments.seed, figures)
    return int(bool(figures.kinds))


if __name__ == '__main__':
    sys.exit(main())
