"""The floor: the bare statement and orjson, without a service.

No service that reads or writes the same rows can be faster. Claims by a request have no floor: how a service finds the
node is up to it.
"""

import orjson
import sqlalchemy as sa

from benchmarks.bare import AGGREGATE, PAGE
from benchmarks.compare.write_floor import WriteFloor
from benchmarks.placement import FIFTH, HALF

_FREE = "provision_state = 'available' AND instance_uuid IS NULL AND parent_node IS NULL AND resource_class = :class"
_HAS = 'EXISTS (SELECT 1 FROM node_traits WHERE node_id = nodes.id AND trait = :{})'


class Floor:
    """The statements of one database.

    :param url: SQLAlchemy URL of the database of this service.
    :param sample: copies.Sample.
    :ivar begin: function that prepares a turn.
    :ivar undo: function that undoes the claims of a turn.
    """

    def __init__(self, url, sample):
        self._engine, self._sample = sa.create_engine(url), sample
        self._traits = (
            f'(SELECT {AGGREGATE[self._engine.dialect.name]} FROM node_traits WHERE node_id = nodes.id) AS traits'  # noqa: S608
        )
        self._page = f'SELECT uuid, name, resource_class, provision_state, {self._traits} FROM nodes WHERE '  # noqa: S608
        self._connection = self._engine.connect()
        self._writes = WriteFloor(self._connection, sample)
        self.begin, self.undo = self._writes.begin, self._writes.undo

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._connection.close()
        self._engine.dispose()

    def works(self):
        """Return {name of a work: function that takes a random generator, and does the work}."""
        node = {'uuid': lambda choose: choose.choice(self._sample.uuids)}
        return {
            'one node': self._of(f'SELECT nodes.*, {self._traits} FROM nodes WHERE uuid = :uuid', node),  # noqa: S608
            'traits of a node': self._of(_TRAITS, node),
            'traits of a provider': self._of(_TRAITS, node),
            'page of 100 nodes': self._of(f'{self._page} id > ({_ID}) ORDER BY id LIMIT 100', node),
            'whole inventory with traits': self._inventory,
            'list by one trait': self._list(_HAS.format('first')),
            'list by 2 traits, 1 forbidden': self._list(
                f'{_HAS.format("first")} AND {_HAS.format("second")} AND NOT {_HAS.format("third")}'
            ),
            'all traits': self._of('SELECT name FROM traits ORDER BY name', {}),
            'providers by a required trait': self._of(
                _PROVIDERS, {'first': lambda choose: choose.choice(self._sample.traits[:40])}
            ),
            **dict(self._candidates()),
            **self._writes.works(),
        }

    def _candidates(self):
        names = {'class': lambda choose: self._sample.classes[0]}
        rules = f'{_HAS.format("half")} AND NOT {_HAS.format("fifth")}'
        fixed = {'half': lambda choose: HALF, 'fifth': lambda choose: FIFTH}
        for limit in (50, 1000):
            statement = f'SELECT uuid, {self._traits} FROM nodes WHERE {_FREE}'  # noqa: S608
            yield f'candidates, limit {limit}', self._of(f'{statement} LIMIT {limit}', names)
            name = f'candidates, half but a fifth, limit {limit}'
            yield name, self._of(f'{statement} AND {rules} LIMIT {limit}', names | fixed)

    def _list(self, condition):
        names = self._sample.traits[:40]
        values = {name: lambda choose: choose.choice(names) for name in ('first', 'second', 'third')}
        return self._of(f'{self._page} {condition} ORDER BY id LIMIT 100', values)

    def _of(self, statement, values):
        text = sa.text(statement)
        names = text.compile().params

        def run(choose):
            self._rows(text, {name: values[name](choose) for name in names})

        return run

    def _rows(self, text, values):
        rows = [dict(row) for row in self._connection.execute(text, values).mappings()]
        self._connection.rollback()
        for row in rows:
            if 'traits' in row:
                row['traits'] = sorted((row['traits'] or '').split(','))
        orjson.dumps(rows, default=str)
        return rows

    def _inventory(self, choose):
        text = sa.text(f'SELECT id, uuid, {self._traits} FROM nodes WHERE id > :marker ORDER BY id LIMIT {PAGE}')  # noqa: S608
        rows = [{'id': 0}]
        while rows:
            rows = self._rows(text, {'marker': rows[-1]['id']})


_PROVIDERS = (
    'SELECT uuid, name, generation, root_provider_uuid, parent_provider_uuid FROM resource_providers '
    'JOIN node_traits ON node_traits.node_id = resource_providers.node_id WHERE trait = :first'
)
_ID = 'SELECT id FROM nodes WHERE uuid = :uuid'
_TRAITS = f'SELECT trait FROM node_traits WHERE node_id = ({_ID}) ORDER BY trait'  # noqa: S608
