"""Builds of the service with a bug, made by patches at run time. The checker must notice each of them."""

import contextlib
import os
import signal
import threading
import time

import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.inventory.core import single_node
from ironic_traits.inventory.holds import taken_nodes

#: Maximum duration in seconds of a run whose record does not show the bug.
MAX_SECONDS = 60


def read_then_write():
    """Read a node instead of locking it."""

    def lock(connection, ident, *columns):
        # This function runs with the globals of single_node.
        columns = tuple(dict.fromkeys((tables.nodes.c.id, tables.nodes.c.uuid, *columns)))
        row = connection.execute(_select_one(columns, _key(ident)), {'ident': ident}).first()  # noqa: F821
        if row is None:
            raise failures.NodeNotFound(node=ident)  # noqa: F821
        change_feed.record(connection, change_feed.NODE, [row.uuid])
        connection.exec_driver_sql('SELECT pg_sleep(0.01)')
        return row

    def take_some(connection, candidates, count):
        return list(candidates[:count])

    # Other modules have imported the functions already.
    single_node.lock.__code__ = lock.__code__
    taken_nodes.take_some.__code__ = take_some.__code__


def answer_before_commit():
    """Send the response, and commit a moment later."""

    @contextlib.contextmanager
    def write(self):
        connection = self._writer.connect()
        transaction = connection.begin()
        try:
            yield connection
        except BaseException:
            transaction.rollback()
            connection.close()
            raise

        def commit():
            with contextlib.suppress(Exception):
                transaction.commit()
            connection.close()

        threading.Timer(0.05, commit).start()

    Database.write = write


def feed_by_id():
    """Let readers of the change feed rely on the ids of its rows, which are assigned before the commit."""

    def since(context, token, kinds, limit):
        log = tables.change_log.c
        with context.read() as connection:
            rows = connection.execute(sa.select(tables.change_log).where(log.id > token.number).order_by(log.id)).all()
            uuids = {row.uuid for row in rows}
            existing = set(connection.scalars(sa.select(tables.nodes.c.uuid).where(tables.nodes.c.uuid.in_(uuids))))
        changes = [
            change_feed.ObjectChange(row.id, row.kind, row.uuid, single_node.now(), row.uuid not in existing)
            for row in rows
        ]
        return change_feed.FeedPage(changes, token._replace(number=rows[-1].id if rows else token.number), False)

    def newest(context):
        with context.read() as connection:
            last = connection.scalar(sa.select(sa.func.max(tables.change_log.c.id))) or 0
        return change_feed.Token('0' * 32, last)

    change_feed.number = lambda context: 0
    change_feed.since, change_feed.now = since, newest


#: {name: (patch, words of a problem that the checker finds)}.
BUILDS = {
    'read, then write, instead of the lock': (read_then_write, ('double holder', 'over the limit')),
    'answer before the commit': (answer_before_commit, ('lost', 'after the write')),
    'a feed that trusts auto-increment': (feed_by_id, ('the change feed missed',)),
    'none': (lambda: None, ()),
}
#: Words of problems that the record does not show during the run.
_IN_THE_END = {'the change feed missed'}


def work(name, url, path, seed, seconds):
    """Run the clients on a build, and kill this process. Call this in its own process.

    The clients continue until their record shows the bug, however slow the machine is.

    :param path: of the file for the record. The file for the world is beside it.
    """
    import json

    from tests.chaos import checker, clients
    from tests.chaos.history import History
    from tests.support.service import make_app, worker

    with make_app(url, inventory__max_traits_per_node=clients.LIMIT) as app:
        history = History(path)
        with worker(url):
            # A service without the bug creates the world, because that is not under test.
            world = clients.World(clients.in_process([app], clients.random.Random(0)))
            BUILDS[name][0]()
            app.service.write = app.service.database.write
            make_ask = lambda choices: clients.in_process([app], choices)  # noqa: E731
            follower = clients.run(
                make_ask, seed, history, 0, world=world, disturb=lambda: _wait(history, BUILDS[name][1], seconds)
            )
            checker.settle(make_ask(clients.random.Random(0)), world)
            time.sleep(0.2)
            follower.end()
    path.with_suffix('.world').write_text(json.dumps([vars(world) | {'_ask': None}, follower.copy]))
    os.kill(os.getpid(), signal.SIGKILL)


def _wait(history, words, seconds):
    """Wait until the record of the clients shows a problem with one of these words.

    Some bugs show only in the comparison with the stored data. For these, wait as long as the run takes.

    :param words: words of the problems of the build.
    """
    from tests.chaos import checker

    can_notice = not _IN_THE_END.issuperset(words)
    end = time.monotonic() + (MAX_SECONDS if can_notice else seconds)
    before = set()
    while time.monotonic() < end:
        time.sleep(0.5)
        # Requests continue during the check, so it may overlook a release. A problem counts if it is found twice.
        problems = set(checker.recorded(history)) if can_notice else set()
        if any(word in problem for problem in problems & before for word in words):
            return
        before = problems
