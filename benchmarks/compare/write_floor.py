"""The floor of works that write: the statements that no service can leave out, in one transaction, without a service.

They lock the node, write what the client sees, and commit. There are no checks, no history, no change feed, and no
notes of who wrote. So they leave a database for measuring only: a service may show old traits of these nodes.
"""

import uuid

import sqlalchemy as sa

from benchmarks.compare.works import Exhausted

_NUMBER = 20
_NODE = sa.text('SELECT id FROM nodes WHERE uuid = :uuid FOR UPDATE')
_COUNT_UP = sa.text('UPDATE nodes SET generation = generation + 1, updated_at = CURRENT_TIMESTAMP WHERE id = :id')
_CLEAR = sa.text('DELETE FROM node_traits WHERE node_id = :id')
_FILL = sa.text(
    'INSERT INTO node_traits (node_id, trait) VALUES ' + ', '.join(f'(:id, :trait_{n})' for n in range(_NUMBER))  # noqa: S608
)
_HOLD = sa.text('UPDATE nodes SET instance_uuid = :instance, updated_at = CURRENT_TIMESTAMP WHERE id = :id')
_CONSUMER = sa.text(
    'INSERT INTO consumers (uuid, project_id, user_id, created_at) VALUES (:consumer, :project, :user, '
    'CURRENT_TIMESTAMP) RETURNING id'
)
_ALLOCATION = sa.text(
    'INSERT INTO allocations (consumer_id, resource_provider_id, resource_class_id, used, created_at) '
    'SELECT :consumer, id, resource_class_id, 1, CURRENT_TIMESTAMP FROM resource_providers WHERE node_id = :id'
)
_UNDO = (
    sa.text('UPDATE nodes SET instance_uuid = NULL WHERE instance_uuid = :consumer'),
    sa.text('DELETE FROM allocations WHERE consumer_id = (SELECT id FROM consumers WHERE uuid = :consumer)'),
    sa.text('DELETE FROM consumers WHERE uuid = :consumer'),
)


class WriteFloor:
    """The writes on one connection.

    :param connection: SQLAlchemy connection to the database of this service.
    :param sample: copies.Sample.
    """

    def __init__(self, connection, sample):
        self._connection, self._sample = connection, sample
        self._free, self._consumers = [], []

    def works(self):
        """Return {name of a work: function that takes a random generator, and does the work}."""
        return {
            'PATCH instance_uuid': self._hold,
            'allocation of a candidate': self._allocate,
            f'PUT {_NUMBER} traits': self._put,
            f'PUT {_NUMBER} traits of a provider': self._put,
        }

    def begin(self):
        """Prepare a turn."""
        self._free = list(self._sample.free)

    def undo(self):
        """Undo the claims of a turn."""
        for consumer in self._consumers:
            for statement in _UNDO:
                self._connection.execute(statement, {'consumer': consumer})
        self._connection.commit()
        self._consumers.clear()

    def _put(self, choose):
        node = self._lock(choose.choice(self._sample.uuids))
        names = choose.sample(self._sample.traits, _NUMBER)
        self._connection.execute(_CLEAR, {'id': node})
        self._connection.execute(_FILL, {'id': node} | {f'trait_{n}': name for n, name in enumerate(names)})
        self._connection.execute(_COUNT_UP, {'id': node})
        self._connection.commit()

    def _hold(self, choose):
        node, consumer = self._claim()
        self._connection.execute(_HOLD, {'id': node, 'instance': consumer})
        self._connection.commit()

    def _allocate(self, choose):
        node, consumer = self._claim()
        values = {'consumer': consumer, 'project': 'project', 'user': 'user'}
        row = self._connection.execute(_CONSUMER, values).scalar_one()
        self._connection.execute(_ALLOCATION, {'id': node, 'consumer': row})
        self._connection.execute(_COUNT_UP, {'id': node})
        self._connection.commit()

    def _claim(self):
        """Lock a free node, and return its id and the uuid of a new consumer."""
        if not self._free:
            raise Exhausted
        node = self._lock(self._free.pop())
        self._consumers.append(str(uuid.uuid4()))
        return node, self._consumers[-1]

    def _lock(self, node_uuid):
        return self._connection.execute(_NODE, {'uuid': node_uuid}).scalar_one()
