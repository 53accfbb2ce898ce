"""/v1/history"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
import wsme.types

from ironic_traits.api import paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.node_history import ordered
from ironic_traits.api.v1.records import parse_node
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core import history
from ironic_traits.resources.additions import ADDED


class _OneOf(wsme.types.UserType):
    """A word out of a few.

    :param name: what the word is.
    :param plural: what the words are.
    """

    basetype = str

    def __init__(self, name: str, plural: str, words: Sequence[str]) -> None:
        self.name, self._plural, self._words = name, plural, words
        self.schema = {'type': 'string', 'enum': list(words)}

    def validate(self, value: Any) -> str:
        if value not in self._words:
            raise ValueError(f'{value!r} is not a {self.name}. The {self._plural} are {", ".join(self._words)}')
        return value


_FILTERS = {
    'since': types.QueryMoment(),
    'until': types.QueryMoment(),
    'node': types.TEXT,
    'trait': types.TraitNames(),
    'source': types.Source(),
    'event_type': _OneOf('type of events', 'types', history.EVENT_TYPES),
    'severity': _OneOf('severity', 'severities', history.SEVERITIES),
}


class Entry(types.Base):
    """An entry of the history in a response. ``source``, ``added`` and ``removed`` are those of writes of traits."""

    uuid = types.UUID
    node_uuid = types.UUID
    node_name = str
    node_resource_class = str
    created_at = types.MOMENT
    event_type = str
    severity = str
    event = str
    conductor = str
    user = str
    project = str
    request_id = str
    provision_state = str
    target_provision_state = str
    source = str
    added = [str]
    removed = [str]


class History(types.Base):
    """A page of the history of all nodes. The last page has no ``next``."""

    history = [Entry]
    next = str


class HistoryController(Resource):
    """The history of all nodes."""

    since = ADDED

    @expose('baremetal:history:list', History, since=ADDED, query=paging.QUERY | _FILTERS)
    def get_all(self, context: Context, grant: Grant, /, **query: Any) -> dict[str, Any]:
        page = ordered(context, query, 'created_at')
        filters = {name: query[name] for name in _FILTERS if name in query}
        if 'node' in filters:
            filters['node'] = parse_node(context, filters['node'])
        return paging.document(context, page, history.find(context, grant, filters, page), 'history', _show)


def _show(row: sa.Row) -> dict[str, Any]:
    return {
        'uuid': row.uuid,
        'node_uuid': row.node_uuid,
        'node_name': row.node_name,
        'node_resource_class': row.node_resource_class,
        'created_at': row.created_at,
        'event_type': row.event_type,
        'severity': row.severity,
        'event': history.event(row),
        'conductor': row.conductor,
        'user': row.user_id,
        'project': row.project_id,
        'request_id': row.request_id,
        'provision_state': row.provision_state,
        'target_provision_state': row.target_provision_state,
        'source': row.source,
        'added': _names(row.added),
        'removed': _names(row.removed),
    }


def _names(joined: str | None) -> list[str] | None:
    return joined if joined is None else joined.split(',') if joined else []
