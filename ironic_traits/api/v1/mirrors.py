"""/v1/mirrors"""

from typing import Any

import sqlalchemy as sa

from ironic_traits.api import types
from ironic_traits.api.expose import Response, expose
from ironic_traits.api.resource import Resource
from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_deletions
from ironic_traits.resources.additions import ADDED

_COLUMNS = ('name', 'endpoint', 'version', 'nodes', 'conflicts', 'missing_nodes')
_READING = ('pass_nodes', 'passed_at', 'current_at', 'failing_since', 'last_error', 'requests', 'changes')
_WRITES = ('write', 'written_traits', 'trait_writes', 'undecided_writes')
_QUEUE = ('write_queue', 'write_failing_since', 'write_error')
_CLAIMS = ('claims', 'unsettled_claims', 'oldest_unsettled_claim')


class Conflict(types.Base):
    """What a cloud has and the inventory cannot have, or a trait that could not be written there."""

    uuid = str
    resource = str
    trait = str
    reason = str
    since = types.MOMENT


class Mirror(types.Base):
    """The mirror of a cloud."""

    name = str
    state = str
    waits_for = [str]
    endpoint = str
    version = str
    process = str
    nodes = int
    conflicts = int
    missing_nodes = int
    conflict_list = [Conflict]
    pass_nodes = int
    passed_at = types.MOMENT
    current_at = types.MOMENT
    lag_seconds = float
    failing_since = types.MOMENT
    last_error = str
    requests = int
    changes = int
    written_traits = int
    trait_writes = int
    write = str
    write_queue = int
    write_failing_since = types.MOMENT
    write_error = str
    undecided_writes = int
    claims = int
    unsettled_claims = int
    oldest_unsettled_claim = types.MOMENT


class Mirrors(types.Base):
    """The mirrors of all clouds."""

    mirrors = [Mirror]


class MissingNodesController(Resource):
    """The nodes that a cloud no longer shows."""

    since = ADDED

    @expose('baremetal:mirror:confirm', since=ADDED, query={'count': int}, statuses=(202,))
    def delete(self, context: Context, mirror: str, /, *, count: int | None = None) -> Response:
        mirror_deletions.confirm(context, mirror, count)
        return Response(status=202)


class MirrorsController(Resource):
    """The mirrors of clouds."""

    since = ADDED
    members = {'missing_nodes': MissingNodesController()}

    @expose('baremetal:mirror:get', Mirrors, since=ADDED)
    def get_all(self, context: Context, /) -> dict[str, Any]:
        return {'mirrors': [_show(row) for row in mirror_clouds.find(context)]}

    @expose('baremetal:mirror:get', Mirror, since=ADDED)
    def get_one(self, context: Context, mirror: str, /) -> dict[str, Any]:
        row = mirror_clouds.get(context, mirror)
        return _show(row) | {'conflict_list': [_conflict(each) for each in mirror_clouds.conflicts(context, mirror)]}


def _conflict(row: sa.Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ('uuid', 'resource', 'trait', 'reason', 'since')}


def _show(row: sa.Row) -> dict[str, Any]:
    shown = {name: getattr(row, name) for name in (*_COLUMNS, *_READING, *_WRITES, *_QUEUE, *_CLAIMS)}
    word = mirror_clouds.state(row)
    process = None if word == 'stopped' else row.holder
    waiting = {'state': word, 'waits_for': mirror_clouds.waits_for(row)}
    return shown | waiting | {'process': process, 'lag_seconds': mirror_clouds.lag(row)}
