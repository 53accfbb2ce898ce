"""Connections of the driver PyMySQL. The columns of a result are parsed once. Too large a statement is not sent.

The server describes the columns of each result in packets, one for each column, before the rows. The packets of a
statement are the same each time. For one node, PyMySQL takes longer to parse them than to read the node.
"""

import functools
from typing import Any

from pymysql import connections
from pymysql.constants import ER
from pymysql.err import OperationalError
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

#: Maximum number of columns whose packets are cached. The statements of the service have some hundred columns.
_MAX_COLUMNS = 2000
#: Size of a statement, in bytes, from which the limit of the server is read. No server has a smaller one by default.
_LARGE = 2**20


class _Column(FieldDescriptorPacket):
    """A parsed packet. Its description is made once."""

    def __init__(self, data: bytes, encoding: str) -> None:
        super().__init__(data, encoding)
        self._description = super().description()

    def description(self) -> Any:
        """Return the description of the column, as in DB-API."""
        return self._description


class Connection(connections.Connection):
    """A connection that caches the parsed packets of columns."""

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        """Execute a statement, and return the number of its rows.

        :raises OperationalError: the statement reaches ``max_allowed_packet``. It is not sent: the server would close
            the connection before it has read the statement, which looks like an outage.
        """
        sql = sql.encode(self.encoding) if isinstance(sql, str) else sql
        if len(sql) >= _LARGE:
            with self.cursor() as cursor:
                cursor.execute('SELECT @@max_allowed_packet')
                (limit,) = cursor.fetchone()
            # One byte of the packet is the command.
            if len(sql) + 1 >= limit:
                raise OperationalError(ER.NET_PACKET_TOO_LARGE, "Got a packet bigger than 'max_allowed_packet' bytes")
        return super().query(sql, unbuffered)

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:
        # PyMySQL has no public name for this method. A release without it would parse each packet.
        return super()._read_packet(_column if packet_type is FieldDescriptorPacket else packet_type)


@functools.lru_cache(_MAX_COLUMNS)
def _column(data: bytes, encoding: str) -> _Column:
    return _Column(data, encoding)
