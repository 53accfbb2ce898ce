"""Connections of the driver PyMySQL. The columns of a result are parsed once.

The server describes the columns of each result in packets, one for each column, before the rows. The packets of a
statement are the same each time. For one node, PyMySQL takes longer to parse them than to read the node.
"""

import functools
from typing import Any

from pymysql import connections
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

#: Maximum number of columns whose packets are cached. The statements of the service have some hundred columns.
_MAX_COLUMNS = 2000


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

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:
        # PyMySQL has no public name for this method. A release without it would parse each packet.
        return super()._read_packet(_column if packet_type is FieldDescriptorPacket else packet_type)


@functools.lru_cache(_MAX_COLUMNS)
def _column(data: bytes, encoding: str) -> _Column:
    return _Column(data, encoding)
