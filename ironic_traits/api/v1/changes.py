"""/v1/changes, and changed nodes in /v1/nodes"""

import urllib.parse
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures, spelling
from ironic_traits.api import types
from ironic_traits.api.expose import accepts_events, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.change_events import open_stream
from ironic_traits.changes import change_feed
from ironic_traits.changes.change_streams import Events
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.nodes import nodes
from ironic_traits.matching.traits import Filter
from ironic_traits.resources.additions import ADDED

RULE = 'baremetal:change:list'


class Change(types.Base):
    """The last change of an object."""

    kind = str
    uuid = types.UUID
    deleted = bool
    changed_at = types.MOMENT


class Changes(types.Base):
    """A page of changes, the oldest first. ``token`` is the place after it. The last page has no ``next``."""

    changes = [Change]
    token = str
    next = str


class ChangesController(Resource):
    """What has changed since a client asked last, as a page or as a stream of events."""

    since = ADDED

    @expose(
        RULE,
        Changes,
        since=ADDED,
        streams=True,
        query={'since': types.TEXT, 'kind': [types.Names()], 'limit': types.Limit()},
    )
    def get_all(
        self, context: Context, /, *, since: Any = None, kind: Any = None, limit: Any = None
    ) -> Events | dict[str, Any]:
        kinds = _kinds(kind)
        if accepts_events(context.request.environ):
            if limit is not None:
                raise failures.InvalidInput(reason='A stream has no limit.')
            return open_stream(context, RULE, since, kinds)
        if since is None:
            return {'changes': [], 'token': str(change_feed.now(context))}
        page = change_feed.since(context, change_feed.parse(since), kinds, _limit(context, limit))
        document = {
            'changes': [
                {'kind': each.kind, 'uuid': each.uuid, 'deleted': each.is_deleted, 'changed_at': each.changed_at}
                for each in page.changes
            ]
        }
        return document | _ending(context, page, 'since')


def changed_nodes(
    context: Context,
    grant: Grant,
    fields: tuple[str, ...],
    filters: dict[str, Any],
    traits: Filter,
    query: dict[str, Any],
) -> tuple[Sequence[sa.Row], dict[str, Any]]:
    """Return the nodes of a list that have changed, and those that are no longer in it.

    :param fields: names of the fields to read: ``uuid`` first.
    :param filters: {filter: value}, as for ``inventory.nodes.nodes.find``.
    :param query: {query parameter: value}, with ``changed_since``.
    :returns: the nodes, and the other keys of the document.
    :raises failures.Forbidden: policy does not allow the caller to see all changes.
    """
    context.can(RULE, target={})
    for name in ('marker', 'sort_key', 'sort_dir'):
        if query.get(name) is not None:
            raise failures.InvalidInput(reason=f'changed-since and {name} cannot be in the same request.')
    token = change_feed.parse(query['changed_since'])
    page = change_feed.since(context, token, (change_feed.NODE,), _limit(context, query.get('limit')))
    uuids = [each.uuid for each in page.changes]
    rows = nodes.find_changed(context, grant, fields, filters, traits, uuids)
    present = {row.uuid for row in rows}
    removed = [uuid for uuid in uuids if uuid not in present]
    return rows, {'removed': removed} | _ending(context, page, 'changed-since')


def _ending(context: Context, page: change_feed.FeedPage, name: str) -> dict[str, str]:
    """Return ``token`` and ``next`` of a page.

    :param name: of the query parameter with the token.
    """
    ending = {'token': str(page.token)}
    if page.has_more:
        request = context.request
        arguments = [(key, value) for key, value in request.GET.items() if key != name]
        query = urllib.parse.urlencode([*arguments, (name, page.token)], safe=',')
        ending['next'] = context.url(f'{request.path_info}?{query}')
    return ending


def _limit(context: Context, limit: int | None) -> int:
    most = context.conf.api.max_limit
    return min(limit or most, most)


def _kinds(values: list[list[str]] | None) -> tuple[str, ...]:
    """Return the kinds in the values of the query parameter, which can be repeated."""
    names = {name for names in values or () for name in names}
    unknown = sorted(names.difference(change_feed.KINDS))
    if unknown:
        raise failures.InvalidInput(
            reason=f'"{unknown[0]:.100}" is not a kind of changes. The kinds are {", ".join(change_feed.KINDS)}.'
            + spelling.hint(unknown, change_feed.KINDS)
        )
    return tuple(names or change_feed.KINDS)
