"""Builds of the service with a bug, made by patches at run time. The races must notice each of them."""

import contextlib

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.inventory.core import single_node
from ironic_traits.inventory.holds import taken_nodes


def _read_without_lock(connection, ident, *columns):
    # This function runs with the globals of single_node.
    columns = tuple(dict.fromkeys((tables.nodes.c.id, tables.nodes.c.uuid, *columns)))
    row = connection.execute(_select_one(columns, _key(ident)), {'ident': ident}).first()  # noqa: F821
    if row is None:
        raise failures.NodeNotFound(node=ident)  # noqa: F821
    change_feed.record(connection, change_feed.NODE, [row.uuid])
    return row


def _trust_the_search(connection, nodes, conditions, columns):
    # This function runs with the globals of taken_nodes.
    all_columns = dict.fromkeys((*_TAKEN, *node_providers.BEFORE, _HAS_EXPIRED, _NEWEST, MOMENT, *columns))  # noqa: F821
    statement = sa.select(*all_columns).where(_IDS)  # noqa: F821
    rows = {row.id: row for row in connection.execute(statement, {'ids': [node.id for node in nodes]})}
    return [rows[node.id] for node in nodes]


#: {name: (function, its replacement, writers that show the bug, words of a problem)}.
BUILDS = {
    'no lock of a node': (single_node.lock, _read_without_lock, ('put C', 'put E'), 'too many traits'),
    'no lock of a node that is held': (
        single_node.lock,
        _read_without_lock,
        ('put an instance on', 'put another instance on'),
        'not as in any order',
    ),
    'no check under the lock': (
        taken_nodes.read_taken,
        _trust_the_search,
        ('reserve by traits', 'put an instance on'),
        'double holder',
    ),
}


@contextlib.contextmanager
def build(name):
    """Let the service have a bug during the block.

    :param name: key of BUILDS.
    """
    function, replacement, *_ = BUILDS[name]
    code = function.__code__
    function.__code__ = replacement.__code__
    try:
        yield
    finally:
        function.__code__ = code
