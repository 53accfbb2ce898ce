"""/v1/nodes/{node}/history"""

import functools
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.node_ident import is_ident
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core import history
from ironic_traits.inventory.core.paging import Page

#: The minor version that brought the history of a node.
SINCE = 78
#: The minor versions that brought fields of an entry with its details.
_PROJECT_SINCE, _STATE_SINCE = 113, 115
_STATE_FIELDS = ('state', 'target_provision_state', 'duration_seconds')
#: Longest event in a list without details.
_LONGEST = 255
#: The entries are always in the order in which they were written. That is also the order of ``created_at``.
SORTABLE = ('created_at', 'id')


class Entry(types.Base):
    """An entry of a node's history in a response."""

    _since = {'project': _PROJECT_SINCE, **dict.fromkeys(_STATE_FIELDS, _STATE_SINCE)}

    uuid = types.UUID
    created_at = types.MOMENT
    severity = str
    event_type = str
    event = str
    conductor = str
    user = str
    project = str
    state = str
    target_provision_state = str
    duration_seconds = int
    links = types.LINKS


class NodeHistory(types.Base):
    """A page of a node's history. The last page has no ``next``."""

    history = [Entry]
    next = str


class NodeHistoryController(Resource):
    """The history of a node."""

    since = SINCE

    @expose(history.GET, NodeHistory, of=access.node, since=SINCE, query=paging.QUERY | {'detail': types.BOOLEAN})
    def get_all(
        self, context: Context, grant: Grant, node_ident: str, /, *, detail: bool = False, **query: Any
    ) -> dict[str, Any]:
        page = ordered(context, query, 'id')
        show = functools.partial(_detailed if detail else _short, context)
        return paging.document(context, page, history.node_history(context, grant, page), 'history', show)

    @expose(history.GET, Entry, of=access.node, since=SINCE)
    def get_one(self, context: Context, grant: Grant, node_ident: str, event_uuid: str, /) -> dict[str, Any]:
        if not is_ident(event_uuid):
            raise failures.InvalidInput(reason=f'Expected UUID or name for event: {event_uuid}')
        return _detailed(context, history.get(context, grant, event_uuid))


def ordered(context: Context, query: dict[str, Any], key: str) -> Page:
    """Return the page that a request for history asks for.

    :param query: {query parameter: value}.
    :param key: the column to sort by, instead of SORTABLE.
    """
    page = paging.page(context, query, SORTABLE, lambda context, name: None)
    return Page(page.limit, page.marker, key, page.descending)


def _short(context: Context, row: sa.Row) -> dict[str, Any]:
    event = history.event(row)
    return {
        'uuid': row.uuid,
        'created_at': row.created_at,
        'severity': row.severity,
        'event': event if len(event) <= _LONGEST else f'{event[:251]}...',
        'links': _links(context, row),
    }


def _detailed(context: Context, row: sa.Row) -> dict[str, Any]:
    entry = {
        'uuid': row.uuid,
        'created_at': row.created_at,
        'severity': row.severity,
        'event_type': row.event_type,
        'event': history.event(row),
        'conductor': row.conductor,
        'user': row.user_id,
    }
    if context.minor >= _PROJECT_SINCE:
        entry['project'] = row.project_id
    if context.minor >= _STATE_SINCE:
        entry['state'] = row.provision_state
        entry['target_provision_state'] = row.target_provision_state
        entry['duration_seconds'] = row.duration_seconds
    return entry | {'links': _links(context, row)}


def _links(context: Context, row: sa.Row) -> list[dict[str, str]]:
    """Return the link to the entry: unlike other resources, it has no bookmark."""
    return context.links('nodes', row.node_uuid, 'history', row.uuid)[:1]
