"""Compare this service with the real Ironic and Placement: python -m benchmarks.compare --output DIRECTORY

For each size, a new database server is started, and with it this service, a real Ironic (API and conductor) and a real
Placement, with the same number of workers behind the same web server, and with the same data. Each work runs in
turns: this service, the real one, the bare statement with orjson, and again. Only one of them runs at a time.

The output is a table, DIRECTORY/compare.json, and the plots DIRECTORY/latency.svg and DIRECTORY/cpu.svg.

A service that already runs is measured with --service, --ironic or --placement, followed by its URL and by the pids
whose CPU counts. It must have the data: the nodes of this benchmark, whose uuids and traits follow from their number.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import signal
import sys

from benchmarks.compare import databases, floor, plots, report, services, turns, works


def main():
    """Compare, size by size. Write the results after each size."""
    arguments = _arguments()
    if importlib.util.find_spec('matplotlib') is None:
        raise SystemExit("matplotlib is missing: pip install '.[benchmarks]'")
    # On SIGTERM, SystemExit ends the services, too.
    signal.signal(signal.SIGTERM, lambda *signaled: sys.exit(1))
    arguments.output.mkdir(parents=True, exist_ok=True)
    results = {'environment': _environment(arguments), 'sizes': {}}
    path = arguments.output / 'compare.json'
    for count in arguments.sizes:
        results['sizes'][count] = _compare(arguments, count)
        path.write_text(json.dumps(results, indent=1) + '\n')
        plots.draw(path)


def _compare(arguments, count):
    """Return the figures of a number of nodes."""
    with contextlib.ExitStack() as stack:
        # Running services have their own databases.
        server = None if arguments.service else stack.enter_context(databases.started(arguments.database))
        running = stack.enter_context(services.Running(arguments, server, count))
        running.sample.free = works.list_free(works.Client(running.sites['ours'].urls['nodes'], running.sample))
        bare = stack.enter_context(floor.Floor(running.url, running.sample)) if running.url else None
        services.show('')
        print(report.head(count), flush=True)
        figures = dict(_figures(arguments, turns.Turns(running, bare, {server.pid} if server else set())))
    print(report.memory(figures), flush=True)
    return {'works': figures}


def _figures(arguments, turn):
    for work in works.WORKS:
        if arguments.works in work.name:
            figures = turn.measure(work, arguments.seconds, arguments.rounds)
            print(*report.lines(work.name, figures), sep='\n', flush=True)
            yield work.name, figures


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', type=pathlib.Path, required=True, metavar='DIRECTORY')
    parser.add_argument('--sizes', type=_numbers, default=[1000, 10000, 100000, 1000000], help='numbers of nodes')
    parser.add_argument('--real-up-to', type=int, default=10000, help='with more nodes, measure this service alone')
    parser.add_argument('--database', choices=list(databases.KINDS), default='postgresql')
    parser.add_argument('--workers', type=int, default=2, help='worker processes of each service')
    parser.add_argument('--seconds', type=float, default=2, help='how long a turn lasts')
    parser.add_argument('--rounds', type=int, default=5, help='number of turns of each')
    parser.add_argument('--works', default='', help='only works whose names contain this')
    for name in ('service', 'ironic', 'placement'):
        parser.add_argument(f'--{name}', nargs='+', metavar='URL PID', help='one that runs already')
    arguments = parser.parse_args()
    if arguments.service and arguments.real_up_to and not (arguments.ironic and arguments.placement):
        parser.error('--service needs --ironic and --placement, or --real-up-to 0')
    return arguments


def _numbers(text):
    return [int(each) for each in text.split(',')]


def _environment(arguments):
    return {
        'database': arguments.database,
        'workers': arguments.workers,
        'seconds': arguments.seconds,
        'rounds': arguments.rounds,
        'processors': os.cpu_count(),
        'python': platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ('ironic', 'openstack-placement')},
        'load': os.getloadavg(),
    }


if __name__ == '__main__':
    main()
