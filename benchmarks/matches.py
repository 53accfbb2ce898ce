"""Measure matches and their explanations: python -m benchmarks.matches http://127.0.0.1:6385 -n 10000 --pid PID

Fill the service with ``benchmarks.seed`` first, with the same -n and --seed. The output has the columns of
``benchmarks.measure``.
"""

import argparse
import collections

from benchmarks.http import Connection
from benchmarks.load import Load
from benchmarks.seed import CLASSES, generate

#: The first version with matches.
VERSION = '1.38'


class Bench(Load):
    """A service under measurement.

    :param arguments: command line arguments.
    """

    def connect(self):
        return Connection(self.arguments.url, version=VERSION)

    def matches(self):
        """Measure requests with few and many clauses, with and without an explanation."""
        count = collections.Counter(
            name for _, traits in generate(self.arguments.n, self.arguments.seed) for name in traits
        )
        names = [name for name, _ in count.most_common()]
        few = {'resource_class': CLASSES[0], 'required': names[:2], 'forbidden': names[5:6], 'limit': 10}
        few['required_any'] = [names[6:8]]
        many = few | {'required': names[:8], 'forbidden': names[8:12], 'required_any': [names[20:25], names[30:35]]}
        for name, body in (
            ('5 traits', few),
            ('5 traits, preferences', few | {'preferred': names[:10]}),
            ('5 traits, explained', few | {'explain': True}),
            ('22 traits', many),
            ('22 traits, explained', many | {'explain': True}),
        ):
            self.load(name, lambda choose, number, body=body: [('POST', '/v1/matches', body)], 1)


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('-n', type=int, default=10000, help='number of nodes of the service')
    parser.add_argument('--seed', type=int, default=42, help='--seed of benchmarks.seed')
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument(
        '--pid',
        type=lambda text: [int(pid) for pid in text.split(',')],
        default=[],
        help='process ids of the server, separated by commas, whose CPU time is measured, with that of their children',
    )
    Bench(parser.parse_args()).matches()


if __name__ == '__main__':
    main()
