"""Builds of the service with a bug that only the order of the responses shows. Each is a patch at run time."""

import contextlib
import json
import random
import time

import sqlalchemy as sa
from sqlalchemy.ext import compiler

from ironic_traits import conf
from ironic_traits.api import conditional
from ironic_traits.changes import change_feed
from ironic_traits.db.engine import Database
from ironic_traits.db.statements import types
from ironic_traits.inventory.core import node_providers, node_selection
from ironic_traits.inventory.holds import reserve
from ironic_traits.inventory.search import node_index
from ironic_traits.matching import sources
from ironic_traits.placement import allocation_checks
from tests.chaos import clients
from tests.chaos.order import Orders
from tests.support.service import make_app

#: Maximum duration in seconds of a run that does not show the bug.
MAX_SECONDS = 200


def holders_that_overlook_each_other():
    """Allocate nodes in Placement that are reserved for other instances."""

    def used_by_others(row, provider, holders, demand):
        return int(row.used) - (provider.node_id in holders)

    allocation_checks._used_by_others = used_by_others


def a_reservation_that_ends_in_the_meantime():
    """Trust the reservations that a request for several instances has read."""
    reserve._check_kept = lambda *arguments: None
    read = reserve._held_by

    def held_by(context, connection, instances):
        held = read(context, connection, instances)
        if held:
            connection.exec_driver_sql('SELECT pg_sleep(0.02)')
        return held

    reserve._held_by = held_by


def a_stale_index():
    """Let the index of nodes be a moment old."""
    news = change_feed.news

    def old_news(connection, kind, seen):
        if seen and time.monotonic() % 0.1 < 0.05:
            return change_feed.News(frozenset(), seen)
        return news(connection, kind, seen)

    change_feed.news = old_news


def an_etag_that_is_kept_too_long():
    """Answer 304 for a moment without looking at the data."""
    version, kept = conditional._version, {}

    def old_version(context):
        key = conditional._request(context)
        until, value = kept.get(key, (0, None))
        if time.monotonic() > until:
            until, value = kept[key] = time.monotonic() + 0.05, version(context)
        return value

    conditional._version = old_version


def an_expiry_by_another_clock():
    """Let reservations expire by a clock that is fast."""

    @compiler.compiles(types.statement_clock, 'postgresql')
    def fast_clock(element, compiler, **options):
        return "((statement_timestamp() + interval '50 ms') AT TIME ZONE 'UTC')"


def a_veto_that_is_lost():
    """Do not leave a veto when an operator takes away what another source holds."""
    edit = sources.edit

    def edit_without_vetoes(before, hold, **changes):
        done = edit(before, hold, **changes)
        return sources.Edit(done.before, sources.Traits(done.after.holders, {}), done.refused)

    sources.edit = edit_without_vetoes


def a_generation_that_does_not_move():
    """Do not raise the generation of a provider when the traits of its node change."""
    node_providers.follow_traits = lambda connection, changes: iter(())


def a_torn_snapshot():
    """Read what must be of one moment with statements of several moments, one for each node."""
    node_index._BATCH = 1

    @contextlib.contextmanager
    def snapshot(self):
        with self.read() as connection:
            execute = connection.execute

            def slowly(*arguments, **options):
                time.sleep(random.choice([0.002, 0.005, 0.02]))
                return execute(*arguments, **options)

            connection.execute = slowly
            try:
                yield connection
            finally:
                del connection.execute

    Database.snapshot = snapshot


def a_lock_order_that_is_inverted():
    """Lock several nodes in an order by chance."""
    node_selection._IN_ORDER = node_selection._IN_ORDER.order_by(None).order_by(sa.func.random())


_TRAITS = {'put_traits': 2, 'add_trait': 2, 'remove_trait': 2}
#: Kinds of calls among which there are no deadlocks: no two of them write the same unique key.
CLAIMS = {'claim': 4, 'unclaim': 2, 'edit_traits': 1}
_DEADLOCKS = sa.text('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
#: {name: (patch, {kind of call: how often})}. The kinds are those that show the bug soon.
BUILDS = {
    'two kinds of holders that overlook each other': (
        holders_that_overlook_each_other,
        {'reserve': 1, 'claim': 1, 'release': 1, 'unclaim': 1},
    ),
    'a reservation that ends in the meantime': (
        a_reservation_that_ends_in_the_meantime,
        {'reserve': 1, 'reserve_two': 2, 'release': 2},
    ),
    'a lock order that is inverted': (a_lock_order_that_is_inverted, CLAIMS),
    'an index that is a moment old': (a_stale_index, _TRAITS | {'count_free': 6}),
    'an ETag that is kept too long': (an_etag_that_is_kept_too_long, _TRAITS | {'read_nodes': 6}),
    'an expiry by another clock': (an_expiry_by_another_clock, {'reserve': 3, 'read_reservations': 3}),
    'a veto that is lost': (a_veto_that_is_lost, _TRAITS),
    'a generation that does not move': (a_generation_that_does_not_move, _TRAITS | {'read_provider': 4}),
    'a torn snapshot': (a_torn_snapshot, {'put_traits': 1, 'count_free': 1}),
}


def deadlocks(database):
    """Return a problem if there were deadlocks on a database of PostgreSQL: [sentence, …]."""
    with database.read() as connection:
        count = connection.scalar(_DEADLOCKS)
    return [f'{count} deadlocks'] if count else []


def work(name, url, path, seed):
    """Run rounds on a build until one shows the bug, and write the problems into a file. Call this in its own process.

    :param path: of the file.
    """
    patch, kinds = BUILDS[name]
    patch()
    database = Database(conf.make(['--database', url]))
    with make_app(url) as app, make_app(url) as other:
        orders = Orders(clients.in_process([app, other], random.Random(0)), seed, kinds)
        end = time.monotonic() + MAX_SECONDS
        orders.run(lambda: orders.problems or deadlocks(database) or time.monotonic() > end)
    path.write_text(json.dumps([*orders.problems, *deadlocks(database)]))
