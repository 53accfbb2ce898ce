"""Rounds of concurrent calls about the same few nodes. The history of each round must be linearizable.

Each round has new nodes and instances, so that a request without an answer cannot disturb a later round.
"""

import contextlib
import random
import threading
import time
import uuid
from collections import Counter

from tests.chaos import order_model
from tests.chaos.order_calls import Calls, make_nodes
from tests.chaos.order_model import TRAITS, Node, World
from tests.support.linearizability import Call, Undecided, violation

NODES, INSTANCES = 3, 3
#: Number of clients, and of the calls of each one.
CLIENTS, CALLS = 4, 7
#: {kind: how often, relative to the others}.
KINDS = {
    'put_traits': 3,
    'add_trait': 3,
    'remove_trait': 3,
    'edit_traits': 2,
    'reserve': 5,
    'reserve_two': 2,
    'release': 4,
    'allocate': 3,
    'deallocate': 3,
    'set_instance': 2,
    'clear_instance': 2,
    'claim': 4,
    'unclaim': 3,
    'maintain': 2,
    'read_node': 3,
    'read_nodes': 3,
    'read_traits': 2,
    'read_provider': 4,
    'read_consumers': 2,
    'find_nodes': 2,
    'find_free': 4,
    'count_free': 2,
    'read_reservations': 2,
}
#: Seconds by which the moments of two clocks on one machine may differ.
CLOCK = 0.005
READS = ('read_', 'find_', 'count_')


class Round:
    """A round.

    :param ask: function that sends a request.
    :param name: resource class of its nodes.
    :param expires: whether some reservations expire. The clocks of the clients and the database must be the same.
    :ivar calls: its history.
    """

    def __init__(self, ask, name, seed, kinds=KINDS, expires=True):
        # A reservation that a request for two instances finds may expire before the request has held the other node.
        self._kinds = {kind: kinds[kind] for kind in kinds if not (expires and kind == 'reserve_two')}
        self._ask, self._seed, self._expires = ask, seed, expires
        self._instances = [str(uuid.uuid4()) for _ in range(INSTANCES)]
        self._send = Calls(ask, make_nodes(ask, NODES, name), name)
        self._reservations, self.calls = ['00000000-0000-4000-8000-000000000000'], []

    def run(self, clients=CLIENTS, number=CALLS):
        """Let the clients work, and read everything at the end."""
        threads = [threading.Thread(target=self._work, args=(client, number), daemon=True) for client in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for node in range(NODES):
            for kind in ('read_node', 'read_provider', 'read_consumers'):
                self._call('end', kind, {'node': node})
        for kind in ('read_nodes', 'read_reservations'):
            self._call('end', kind, {})

    def end(self):
        """End the reservations, because ``read_reservations`` reads one page of those of all rounds."""
        for reservation in self._reservations[1:]:
            self._ask('DELETE', f'/v1/reservations/{reservation}')

    def violation(self):
        """Return the calls of the shortest history that is not linearizable; [] if there is none."""
        return violation(order_model.after, World((Node(),) * NODES), self.calls)

    def _work(self, client, number):
        choices = random.Random(f'{self._seed}-{client}')
        for _ in range(number):
            kind = choices.choices(list(self._kinds), list(self._kinds.values()))[0]
            self._call(client, kind, self._values(choices, kind))

    def _call(self, client, kind, values):
        call = Call(client, kind, dict(values), time.monotonic(), is_read=kind.startswith(READS))
        self.calls.append(call)
        answer, more = self._send.send(kind, values)
        if answer is None:
            if call.is_read:
                self.calls.remove(call)
            return
        # Together, because the checker may see the call in the meantime.
        call.values, call.answer, call.ended = call.values | more, answer, time.monotonic()
        if call.values.get('expires') and answer[0] == 201:
            began, ended = (call.values['expires'] + each for each in (-CLOCK, CLOCK))
            self.calls.append(Call('clock', 'expire', more, began, ended, ()))
        self._reservations += [more['uuid']] if 'uuid' in more else more.get('uuids', ())

    def _values(self, choices, kind):
        """Return random values for a call."""
        node, instance = choices.randrange(NODES), choices.choice(self._instances)
        trait, other = choices.sample(TRAITS, 2)
        some = tuple(choices.sample(range(NODES), choices.randint(1, 2)))
        source, pair = choices.choice([None, 'rack']), tuple(choices.sample(self._instances, 2))
        is_list = choices.random() < 0.6
        expires = time.monotonic() + choices.uniform(0, 0.1) if self._expires and choices.random() < 0.3 else None
        return {
            'put_traits': {'node': node, 'source': source, 'traits': tuple(sorted(choices.sample(TRAITS, 2)))},
            'add_trait': {'node': node, 'source': source, 'trait': trait},
            'remove_trait': {'node': node, 'source': source, 'trait': trait},
            'edit_traits': {'nodes': some, 'add': trait, 'remove': other},
            'reserve': {'instance': instance, 'nodes': some if is_list else None, 'expires': expires},
            'reserve_two': {'instances': pair},
            'release': {'uuid': choices.choice(self._reservations)},
            'allocate': {'instance': instance, 'nodes': some},
            'deallocate': {'instance': instance},
            'set_instance': {'node': node, 'instance': instance},
            'clear_instance': {'node': node},
            'claim': {'demands': tuple(zip(pair, some, strict=False))},
            'unclaim': {'consumer': instance},
            'maintain': {'node': node, 'is_on': choices.random() < 0.3},
            'find_nodes': {'trait': trait},
            'find_free': {'trait': trait, 'way': choices.choice(['matches', 'candidates'])},
            'count_free': {},
            'read_nodes': {},
            'read_reservations': {},
        }.get(kind, {'node': node})


class Orders:
    """Many rounds.

    :ivar counts: {kind of call: number of checked calls}.
    :ivar problems: [sentence, …].
    :ivar undecided: number of rounds that were not decided.
    """

    def __init__(self, ask, seed, kinds=KINDS, name='order', expires=True):
        self._ask, self._seed, self._kinds, self._name, self._expires = ask, seed, kinds, name, expires
        self.counts, self.problems, self.undecided, self.rounds = Counter(), [], 0, 0

    @contextlib.contextmanager
    def running(self):
        """Run rounds during the block."""
        ended = threading.Event()
        thread = threading.Thread(target=self.run, args=(ended.is_set,), daemon=True, name='orders')
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def run(self, is_over, clients=CLIENTS, number=CALLS):
        """Run rounds until a function without arguments returns True."""
        while not is_over():
            self.rounds += 1
            try:
                self._run_one(clients, number)
            except Undecided:
                self.undecided += 1
            except Exception as error:
                self.problems.append(f'round {self.rounds}: {error!r}')

    def _run_one(self, clients, number):
        name, expires = f'{self._name}{self.rounds}', self._expires and self.rounds % 2 == 0
        one = Round(self._ask, name, f'{self._seed}-{self.rounds}', self._kinds, expires)
        one.run(clients, number)
        one.end()
        self.counts.update(call.kind for call in one.calls)
        if found := one.violation():
            self.problems.append('\n'.join(['no order explains these calls:', *map(str, found)]))
