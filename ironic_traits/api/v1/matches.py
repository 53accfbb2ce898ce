"""/v1/matches: nodes that match the requirements of a flavor, an image and the client."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import given_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import match_types
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.records import deploy_templates
from ironic_traits.inventory.search import explanations, group_search, instances, matches
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching import rebuilds
from ironic_traits.matching.requests import Request
from ironic_traits.resources.additions import ADDED

#: Maximum number of nodes in the response to a request without ``limit``.
DEFAULT_LIMIT = 100


class MatchBody(match_types.RequestBody):
    """A request for nodes, and options of the response."""

    limit = types.PositiveInteger(maximum=2**31 - 1)
    count = types.PositiveInteger(maximum=2**31 - 1)
    explain = types.BOOLEAN
    instance_uuid = types.UUID


class MatchesController(Resource):
    """Nodes that match a request, and whether the providers of an instance still match."""

    since = ADDED

    @expose('baremetal:match:list', match_types.Matches, since=ADDED, body=MatchBody)
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> dict[str, Any]:
        fields = given_fields(body)
        node_request = match_types.read_request(context, grant, body)
        document: dict[str, Any] = {
            'request': _show(node_request.request),
            'warnings': match_types.warnings(context, node_request),
        }
        if context.may('baremetal:deploy_template:get'):
            document['deploy_templates'] = deploy_templates.names(context, node_request.request.instance_traits)
        if 'instance_uuid' in fields:
            return document | _check(context, fields, node_request)
        max_limit = context.conf.api.max_limit
        limit = min(fields.get('limit', DEFAULT_LIMIT), max_limit)
        if node_request.topology or 'count' in fields:
            document |= _together(context, fields, node_request, limit)
            if not document['nodes']:
                document['warnings'] += _absences(context, node_request)
            return document
        # One more, to know whether there are more.
        rows = matches.find(context, node_request, limit + 1)
        document['nodes'] = [_node(row) for row in rows[:limit]]
        if not rows:
            document['warnings'] += _absences(context, node_request)
        elif len(rows) > limit and 'limit' not in fields:
            document['warnings'] += [_more_warning(limit, max_limit)]
        if fields.get('explain'):
            document['explanation'] = explanations.explain(context, node_request)
        return document


def _check(context: Context, fields: dict[str, Any], node_request: NodeRequest) -> dict[str, Any]:
    context.can('baremetal:match:check')
    superfluous = sorted(fields.keys() & {'limit', 'count', 'explain', 'topology', 'relative_to', *match_types.FILTERS})
    if superfluous:
        raise failures.InvalidInput(
            reason="'instance_uuid' checks the providers of an instance; it cannot be combined with "
            f'{", ".join(superfluous)}.'
        )
    providers = instances.fulfil(context, fields['instance_uuid'], node_request.request)
    return {'satisfied': rebuilds.fulfilled(providers), 'providers': providers}


def _together(context: Context, fields: dict[str, Any], node_request: NodeRequest, limit: int) -> dict[str, Any]:
    """Return nodes that fulfil a topology together: as many as ``count`` says, or at most ``limit``."""
    count = fields.get('count')
    if count and count > context.conf.api.max_limit:
        raise failures.InvalidInput(reason=f"'count' is {context.conf.api.max_limit} at most.")
    chosen, reports = group_search.find(context, node_request, count, limit)
    rows = {row.uuid: row for row in matches.of_uuids(context, [node.uuid for node in chosen])}
    keys = [policy.key for policy in node_request.topology]
    # A node that was deleted in the meantime has no row.
    found = ((rows[node.uuid], node.cell) for node in chosen if node.uuid in rows)
    nodes = [_node(row) | ({'groups': dict(zip(keys, cell, strict=True))} if keys else {}) for row, cell in found]
    document: dict[str, Any] = {'nodes': nodes}
    if nodes and reports:
        document['topology'] = match_types.reports(reports)
    if fields.get('explain'):
        document['explanation'] = explanations.explain(context, node_request, needed=count or 1)
    return document


def _more_warning(limit: int, max_limit: int) -> str:
    return f"More nodes match: these are the first {limit}. Set 'limit' to get up to {max_limit}."


def _absences(context: Context, node_request: NodeRequest) -> list[str]:
    """Return sentences about the required traits that no node has."""
    return [_absence_warning(names) for names in matches.absent_traits(context, node_request)]


def _absence_warning(names: Sequence[str]) -> str:
    traits = f'the trait {names[0]}' if len(names) == 1 else f'any of the traits {", ".join(names)}'
    return f'No node has {traits}.'


def _node(row: sa.Row) -> dict[str, Any]:
    return {'uuid': row.uuid, 'name': row.name, 'resource_class': row.resource_class, 'traits': row.traits}


def _show(request: Request) -> dict[str, Any]:
    return {
        'resource_class': request.resource_class,
        'required': sorted(request.required),
        'required_any': [sorted(names) for names in request.required_any],
        'forbidden': sorted(request.forbidden),
        'preferred': [{'trait': name, 'weight': weight} for name, weight in request.preferred.items()],
        'placement_query': request.placement_query(),
        'instance_traits': request.instance_traits,
    }
