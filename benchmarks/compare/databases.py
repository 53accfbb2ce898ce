"""Database servers: a new one for each size, removed afterwards."""

import contextlib

from tests.support import servers


class _Server:
    @property
    def pid(self):
        """The pid of the server."""
        return self._process.pid


class PostgreSQL(_Server, servers.PostgreSQL):
    """PostgreSQL with more memory than in the tests."""

    def command(self):
        return [*super().command(), '-c', 'shared_buffers=1GB', '-c', 'max_wal_size=4GB', '-c', 'work_mem=16MB']


class MariaDB(_Server, servers.MariaDB):
    """MariaDB with more memory than in the tests."""

    def command(self):
        return [*super().command(), '--innodb-buffer-pool-size=1G', '--local-infile=1']


KINDS = {'postgresql': PostgreSQL, 'mariadb': MariaDB}


@contextlib.contextmanager
def started(kind):
    """Provide a running server.

    :param kind: key of ``KINDS``.
    """
    server = KINDS[kind]()
    try:
        server.start()
        yield server
    finally:
        server.stop()
