"""Clients that work concurrently."""

import concurrent.futures

#: Number of clients of the ``clients`` fixture.
CLIENTS = 16


def at_once(clients, work):
    """Run the work of all clients concurrently, and return the results.

    :param work: function of a client and its number.
    :returns: [result of the client, …].
    """
    with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(work, clients, range(len(clients))))
