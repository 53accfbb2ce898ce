"""A search on one database, and its figures."""

import contextlib
import dataclasses
import math
import tempfile
import time

from tests.fuzz import described, raw, world
from tests.support import servers
from tests.support.client import Client
from tests.support.service import ForkedServer, make_app, upgraded

#: Percentage of raw requests.
RAW = 35


@dataclasses.dataclass
class Figures:
    """The figures and the problems of a search.

    :ivar statuses: {status: number of responses}.
    :ivar problems: [sentence, …].
    :ivar longest: duration of the slowest request in seconds.
    :ivar seconds: duration of the search.
    """

    requests: int
    statuses: dict
    problems: list
    longest: float
    seconds: float

    def of_kind(self, kind):
        """Return the number of responses whose status begins with a digit."""
        return sum(number for status, number in self.statuses.items() if status // 100 == kind)

    def __str__(self):
        counts = ', '.join(f'{self.of_kind(kind)} {kind}xx' for kind in (2, 4, 5))
        return (
            f'{self.requests} requests in {self.seconds:.0f} s: {counts}, longest {self.longest:.1f} s, '
            f'{len(self.problems)} problems'
        )


@contextlib.contextmanager
def database(kind):
    """Provide the URL of a new database: ``sqlite``, or a key of ``servers.SERVERS``."""
    if kind == 'sqlite':
        with tempfile.TemporaryDirectory(prefix='ironic-traits-fuzz-') as folder:
            yield upgraded(f'sqlite:///{folder}/x.sqlite')
        return
    server = servers.SERVERS[kind]()
    server.start()
    try:
        yield upgraded(server.create('fuzz'))
    finally:
        server.stop()


def search(url, requests, seed, minutes=math.inf):
    """Search with a number of requests, and return the Figures.

    :param url: of a database, upgraded and empty.
    :param seed: of the random numbers.
    :param minutes: maximum duration. The search may end with fewer requests.
    """
    began_at = time.monotonic()
    number = requests * RAW // 100
    # Use small pages: otherwise lists get slow as the search creates nodes.
    with make_app(url, api__max_limit=50) as app:
        by_description = described.Search(app, seed)
        by_description.run(requests - number, began_at + minutes * 60 * (1 - RAW / 100))
        world.create(Client(app))
    with ForkedServer(url, '--nostart-worker') as server:
        by_socket = raw.RawSearch(server.base, seed)
        by_socket.run(number, began_at + minutes * 60)
        by_socket.check()
    # The end of the block calls Server.stop, which searches the log for secrets.
    if 'Traceback' in server.output:
        by_socket.problems.append(f'The log has a traceback: {server.output[:10_000]}')
    searches = (by_description, by_socket)
    return Figures(
        sum(each.sent for each in searches),
        {
            status: sum(each.statuses.get(status, 0) for each in searches)
            for status in sorted(by_description.statuses | by_socket.statuses)
        },
        [problem for each in searches for problem in each.problems],
        max(each.longest for each in searches),
        time.monotonic() - began_at,
    )
