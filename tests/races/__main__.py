"""The command ``python -m tests.races``: race all pairs of writers, then groups of three and four."""

import argparse
import dataclasses
import itertools
import logging
import random
import sys
import time

from tests.fuzz.search import database
from tests.races import races, table
from tests.races.writers import WRITERS
from tests.support import servers


@dataclasses.dataclass
class Figures:
    """The figures of a run on one database."""

    pairs: int = 0
    complete: int = 0
    groups: int = 0
    schedules: int = 0
    requests: int = 0
    refused: int = 0
    left_names: int = 0
    other_reasons: int = 0
    longest: int = 0
    violations: int = 0
    seconds: float = 0.0

    def add(self, race, found):
        """Add a race, and print what it has found."""
        self.schedules += race.schedules
        self.requests += race.requests
        self.refused += race.refused
        self.left_names += race.left_names
        self.other_reasons += race.other_reasons
        self.longest = max(self.longest, race.schedules)
        self.violations += bool(found)
        if found:
            schedule, problem = found[0]
            shown = f'{", ".join(race.names)}: {len(found)} of {race.schedules} schedules'
            again = f'--writers {",".join(race.names)!r} --schedule {" ".join(map(str, schedule))!r}'
            print(shown, problem, again, sep='\n  ', flush=True)


def main():
    """Run the races. The exit code is 1 if one of them had a problem."""
    parser = argparse.ArgumentParser(prog='python -m tests.races', description=__doc__)
    kinds = ['sqlite', *servers.SERVERS]
    parser.add_argument('--database', action='append', choices=kinds, help='may be repeated; all by default')
    parser.add_argument('--minutes', type=float, default=30, help='for each database')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--preemptions', type=int, default=1, help='how often a pair of writers interrupt each other')
    parser.add_argument('--exhaustive', action='store_true', help='all schedules of each pair that have at most --most')
    parser.add_argument('--most', type=int, default=1000, help='maximum number of schedules of a pair')
    parser.add_argument('--first', type=int, default=0, help='number of the first pair, to continue an earlier run')
    parser.add_argument('--only', default='', help='only pairs with a writer whose name contains this')
    parser.add_argument('--writers', help='names, with commas between them: only these writers, with --schedule')
    parser.add_argument('--schedule', default='', help='numbers of the writers, as a run has printed them')
    parser.add_argument('--write', action='store_true', help='write the figures into doc/source/reliability.rst')
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    violations = 0
    for kind in arguments.database or kinds:
        with database(kind) as url, races.Arena(url) as arena:
            if arguments.writers:
                violations += _again(arena, arguments.writers.split(','), arguments.schedule)
                continue
            figures = _run(arena, arguments)
        print(kind, figures, flush=True)
        violations += figures.violations
        if arguments.write:
            table.write(kind, arguments.seed, figures, arguments.first)
    return int(bool(violations))


def _again(arena, names, schedule):
    """Run one schedule, print it, and return the number of problems."""
    steps, problems = races.Race(arena, names).check(tuple(map(int, schedule.split())))
    print(races.text(names, steps), *problems, sep='\n')
    return len(problems)


def _run(arena, arguments):
    """Race pairs for three quarters of the time, and groups for the rest. Return the Figures."""
    figures, began, choices = Figures(), time.monotonic(), random.Random(arguments.seed)
    seconds = arguments.minutes * 60
    pairs = _pairs(arena, arguments.only, choices)
    preemptions = 1000 if arguments.exhaustive else arguments.preemptions
    for pair in pairs[arguments.first :]:
        if time.monotonic() - began > seconds * 0.75:
            break
        race = races.Race(arena, pair)
        found, is_complete = races.explore(race, preemptions, arguments.most, choices)
        figures.pairs += 1
        figures.complete += is_complete
        figures.add(race, found)
    while time.monotonic() - began < seconds:
        race = races.Race(arena, choices.choices(list(WRITERS), k=choices.choice((3, 3, 4))))
        figures.groups += 1
        figures.add(race, races.at_random(race, 20, choices))
    figures.seconds = time.monotonic() - began
    return figures


def _pairs(arena, part, choices):
    """Return the pairs of writers that share a table, those that share the most tables first.

    :param part: text in the name of one of the writers.
    """
    for name in WRITERS:
        races.Race(arena, [name]).run()
    shared = {
        pair: len(set().union(*races.Race(arena, pair).shared()))
        for pair in itertools.combinations_with_replacement(WRITERS, 2)
        if part in pair[0] or part in pair[1]
    }
    return sorted(filter(shared.get, shared), key=lambda pair: (-shared[pair], choices.random()))


if __name__ == '__main__':
    sys.exit(main())
