"""Requests that one process carries out together."""

import concurrent.futures

from ironic_traits.inventory.holds import combined
from tests.support.concurrency import wait_until


def sender(app, monkeypatch, module, name, send):
    """Return a function that sends requests, of which all but the first are carried out together.

    It takes the bodies of the requests, and the number of them that the second transaction must have. It returns their
    responses.

    :param module: module with the function that carries out requests. Its arguments are a context and a list of them.
    :param name: name of that function.
    :param send: function from the body of a request to its response.
    """
    # On a busy machine, it takes a while until all are there.
    monkeypatch.setattr(combined, 'PATIENCE', 60)
    original, transactions, number_of_others = getattr(module, name), [], []

    def held_up(context, requests, *arguments):
        transactions.append(list(requests))
        if len(transactions) == 1:
            (waiting,) = app.service.combined._waiting.values()
            wait_until(lambda: len(waiting) == number_of_others[0])
        return original(context, requests, *arguments)

    def send_all(bodies, number):
        number_of_others.append(len(bodies) - 1)
        monkeypatch.setattr(module, name, held_up)
        with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            # The first one is at work when the others come.
            first = pool.submit(send, bodies[0])
            wait_until(lambda: transactions)
            others = [pool.submit(send, body) for body in bodies[1:]]
            responses = [future.result() for future in (first, *others)]
        assert len(transactions[1]) == number, transactions
        return responses

    return send_all
