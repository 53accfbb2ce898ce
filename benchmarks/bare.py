"""The minimum cost of reading the whole inventory: the SQL statement and orjson, without the service.

    python -m benchmarks.bare postgresql+psycopg://…

Use the database of the service that was measured.
"""

import sys
import time

import orjson
import sqlalchemy as sa

PAGE = 1000
AGGREGATE = {
    'sqlite': "group_concat(trait, ',')",
    'postgresql': "string_agg(trait, ',')",
    'mysql': "group_concat(trait separator ',')",
}


def main():
    """Read the inventory five times, and print the best time."""
    engine = sa.create_engine(sys.argv[1])
    statement = (
        f'SELECT id, uuid, (SELECT {AGGREGATE[engine.dialect.name]} FROM node_traits WHERE node_id = nodes.id) '  # noqa: S608
        'FROM nodes WHERE id > :marker ORDER BY id LIMIT :limit'
    )
    best = float('inf')
    for _ in range(5):
        start, marker, size = time.perf_counter(), 0, 0
        with engine.connect() as connection:
            while True:
                rows = connection.execute(sa.text(statement), {'marker': marker, 'limit': PAGE}).all()
                nodes = [{'uuid': uuid, 'traits': sorted((traits or '').split(','))} for _, uuid, traits in rows]
                size += len(orjson.dumps({'nodes': nodes}))
                if len(rows) < PAGE:
                    break
                marker = rows[-1].id
        best = min(best, time.perf_counter() - start)
    print(f'{best:.3f} s, {size / 1e6:.1f} MB')


if __name__ == '__main__':
    main()
