"""/v1/matches: which nodes are such as a flavor and an image ask for."""

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import given
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import match_types
from ironic_traits.inventory import explanations, instances, matches
from ironic_traits.inventory.node_traits import split
from ironic_traits.matching import rebuilds

SINCE = 38


class MatchBody(match_types.RequestBody):
    """A request, and what is to be told of it."""

    limit = types.PositiveInteger(maximum=2**31 - 1)
    explain = types.BOOLEAN
    instance_uuid = types.UUID


class MatchesController(Resource):
    """Nodes that match, and whether what an instance holds does."""

    since = SINCE

    @expose(match_types.Matches, body=MatchBody)
    def post(self, context, /, *, body):
        context.can('baremetal:match:list')
        if context.minor < SINCE:
            raise failures.ResourceNotFound(hint=f' Matches need API version 1.{SINCE}.')
        said = {name: value for name, value in given(body).items() if value is not None}
        wanted = match_types.wanted(context, body)
        answer = {'request': _shown(wanted.request), 'warnings': wanted.request.warnings}
        if 'instance_uuid' in said:
            return answer | _check(context, said, wanted)
        most = context.conf.api.max_limit
        rows = matches.find(context, wanted, min(said.get('limit', most), most))
        answer['nodes'] = [_node(row) for row in rows]
        if not rows:
            absent = matches.absent_traits(context, wanted.request)
            answer['warnings'] = [*answer['warnings'], *map(_no_node_has, absent)]
        if said.get('explain'):
            answer['explanation'] = explanations.explain(context, wanted)
        return answer


def _check(context, said, wanted):
    context.can('baremetal:match:check')
    superfluous = sorted(said.keys() & {'limit', 'explain', *match_types.FILTERS})
    if superfluous:
        raise failures.InvalidInput(
            reason=f"'instance_uuid' asks of what an instance holds; it does not go with {', '.join(superfluous)}."
        )
    providers = instances.fulfil(context, said['instance_uuid'], wanted.request)
    return {'satisfied': rebuilds.fulfilled(providers), 'providers': providers}


def _no_node_has(names):
    what = f'the trait {names[0]}' if len(names) == 1 else f'any of the traits {", ".join(names)}'
    return f'No node has {what}.'


def _node(row):
    return {'uuid': row.uuid, 'name': row.name, 'resource_class': row.resource_class, 'traits': split(row.traits)}


def _shown(request):
    return {
        'resource_class': request.resource_class,
        'required': sorted(request.required),
        'required_any': [sorted(names) for names in request.required_any],
        'forbidden': sorted(request.forbidden),
        'preferred': [{'trait': name, 'weight': weight} for name, weight in request.preferred.items()],
        'placement_query': request.placement_query(),
        'instance_traits': request.instance_traits,
    }
