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


def show_rows(rows, explained, number):
    """Print the rows that explained nothing, and the most frequent kinds of all others."""
    for row, (reason, _) in enumerate(rows):
        kinds = explained.get(row)
        if not kinds:
            print(f'Explained nothing: {reason}')
        elif number:
            shown = (f'{count}: {kind}' for kind, count in kinds.most_common(number))
            print(f'{kinds.total()}: {reason}', *shown, sep='\n    ')


def main():
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog='python -m tests.differential', description=__doc__)
    parser.add_argument('service', choices=runs.APIS)
    parser.add_argument('--requests', type=int, default=100_000)
    parser.add_argument('--minutes', type=float, default=math.inf, help='end the run, with fewer requests')
    parser.add_argument('--seed', default=str(int(time.time())))
    parser.add_argument('--kinds', type=int, default=40, help='number of kinds of differences to print')
    parser.add_argument('--jobs', type=int, default=1, help='number of processes, each with both services')
    parser.add_argument('--answers', default=':memory:', help='file that keeps the answers of the real service')
    parser.add_argument('--rows', type=int, default=0, help='number of kinds to print of each row of the differences')
    parser.add_argument('--quick', action='store_true', help='do not search for the shortest sequences')
    parser.add_argument('--write', action='store_true', help='write the figures into doc/source/reliability.rst')
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f'seed {arguments.seed}', flush=True)
    run = runs.Run(
        arguments.service, arguments.requests, arguments.seed, arguments.minutes, arguments.jobs, arguments.answers
    )
    figures = run.search()
    if not arguments.quick:
        shrinking.shrink(run, figures, arguments.kinds)
    for kind, number in figures.kinds.most_common(arguments.kinds):
        shown = figures.examples[kind][0][-1 if arguments.quick else 0 :]
        print(f'{number}: {kind}', *shown, sep='\n    ')
    print(f'{figures.requests} requests in {figures.seconds:.0f} s: {dict(figures.statuses)}')
    print(f'{figures.differences} explained differences, {len(figures.kinds)} unexplained kinds')
    show_rows(runs.api(arguments.service)[1], figures.explained, arguments.rows)
    if arguments.write:
        page.store(arguments.service, arguments.seed, figures)
    return int(bool(figures.kinds))


if __name__ == '__main__':
    sys.exit(main())
