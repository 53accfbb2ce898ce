"""Requests that one process carries out together."""

import concurrent.futures

from ironic_traits.inventory.holds import combined
from tests.support.concurrency import wait_until


def sender(app, monkeypatch, send):
    """Return a function that sends requests, of which all but the first are carried out together.

    It takes the bodies of the requests, and the number of them that the second transaction must have; by default, all
    but the first. It returns their responses.

    :param send: function from the body of a request to its response.
    """
    # On a busy machine, it takes a while until all are there.
    monkeypatch.setattr(combined, 'PATIENCE', 60)
    take, transactions = app.service.combined._take, []

    def send_all(bodies, number=None):
        def held_up(kind, ticket):
            transactions.append(take(kind, ticket))
            if len(transactions) == 1:
                wait_until(lambda: len(app.service.combined._waiting[kind]) == len(bodies) - 1)
                return [ticket]
            return transactions[-1]

        monkeypatch.setattr(app.service.combined, '_take', held_up)
        with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            # The first one is at work when the others come.
            first = pool.submit(send, bodies[0])
            wait_until(lambda: transactions)
            others = [pool.submit(send, body) for body in bodies[1:]]
            responses = [future.result() for future in (first, *others)]
        assert len(transactions[1]) == (number or len(bodies) - 1), transactions
        return responses

    return send_all
