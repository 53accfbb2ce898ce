"""/placement/resource_providers"""

from ironic_traits.api.placement import aggregates, query
from ironic_traits.api.placement import traits as traits_api
from ironic_traits.api.placement.aggregates import AggregatesController
from ironic_traits.api.placement.allocations import ProviderAllocationsController
from ironic_traits.api.placement.expose import Answer, expose, modified
from ironic_traits.api.placement.inventories import InventoriesController
from ironic_traits.api.placement.provider_traits import ProviderTraitsController
from ironic_traits.api.placement.schemas import TEXT, UUID, canonical, document
from ironic_traits.api.placement.usages import ProviderUsagesController
from ironic_traits.api.resource import Resource
from ironic_traits.placement import failures, resource_providers

#: The minor versions that brought trees, a POST that answers with the provider, and moves of what has a parent.
TREES_SINCE = 14
POST_SHOWS_SINCE = 20
MOVES_SINCE = 37

_NAME = {'type': 'string', 'maxLength': 200}
_PARENT = {'parent_provider_uuid': {'anyOf': [UUID, {'type': 'null'}]}}
_NEW = {'name': _NAME, 'uuid': UUID}
_QUERY = {
    0: {'name': TEXT, 'uuid': UUID},
    3: {'member_of': TEXT},
    4: {'resources': TEXT},
    TREES_SINCE: {'in_tree': UUID},
    18: {'required': TEXT},
}


def _queries():
    """Give the schema of the query at each version: each adds to those before."""
    properties: dict[str, dict] = {}
    for minor, more in _QUERY.items():
        properties = properties | more
        yield minor, document(properties)


class ResourceProvidersController(Resource):
    """What has resources: nodes, and whatever clients make."""

    members = {
        'inventories': InventoriesController(),
        'usages': ProviderUsagesController(),
        'aggregates': AggregatesController(),
        'traits': ProviderTraitsController(),
        'allocations': ProviderAllocationsController(),
    }

    @expose('placement:resource_providers:list', query=dict(_queries()))
    def get_all(self, context, /, *, query):
        try:
            rows = resource_providers.find(context, _wanted(query, context.minor))
        except failures.ResourceClassNotFound as error:
            raise failures.BadRequest(reason=f'Invalid resource class in resources parameter: {error}') from error
        except failures.TraitNotFound as error:
            raise failures.BadRequest(reason=f'Invalid trait(s) in "required" parameter: {error}') from error
        return Answer({'resource_providers': [_show(context, row) for row in rows]}, modified(rows))

    @expose('placement:resource_providers:show')
    def get_one(self, context, uuid, /):
        row = resource_providers.get(context, uuid)
        return Answer(_show(context, row), modified([row]))

    @expose(
        'placement:resource_providers:create',
        body={0: document(_NEW, ['name']), TREES_SINCE: document(_NEW | _PARENT, ['name'])},
    )
    def post(self, context, /, *, body):
        uuid = canonical(body['uuid']) if 'uuid' in body else None
        row = resource_providers.create(context, body['name'], uuid, *_parent(body))
        location = f'/resource_providers/{row.uuid}'
        if context.minor < POST_SHOWS_SINCE:
            return Answer(status=201, location=location)
        return Answer(_show(context, row), modified([row]), location=location)

    @expose(
        'placement:resource_providers:update',
        body={0: document({'name': _NAME}, ['name']), TREES_SINCE: document({'name': _NAME} | _PARENT, ['name'])},
    )
    def put(self, context, uuid, /, *, body):
        row = resource_providers.update(context, uuid, body['name'], _parent(body), context.minor >= MOVES_SINCE)
        return Answer(_show(context, row), modified([row]))

    @expose('placement:resource_providers:delete')
    def delete(self, context, uuid, /):
        try:
            resource_providers.delete(context, uuid)
        except failures.ProviderNotFound as error:
            raise failures.NotFound(reason=f'{error} for delete') from error
        return Answer(status=204)


def _parent(body):
    """Give [uuid of the parent that is asked for, or None for none]; [] when the body does not say."""
    return [uuid and canonical(uuid) for uuid in (body[key] for key in _PARENT if key in body)]


def _wanted(arguments, minor):
    """Read what the query of a list asks for."""
    wanted = {name: canonical(arguments[name]) for name in ('uuid', 'in_tree') if name in arguments}
    if 'name' in arguments:
        wanted['name'] = arguments['name']
    if 'member_of' in arguments:
        wanted['member_of'], wanted['not_member_of'] = query.member_of(
            'member_of', arguments.getall('member_of'), minor
        )
    if 'required' in arguments:
        wanted['required'], wanted['forbidden'] = query.required('required', arguments.getall('required'), minor)
    if 'resources' in arguments:
        wanted['resources'] = query.resources(arguments['resources'])
    return wanted


#: What a provider links to, and the minor version that brought it.
_LINKS = {
    'inventories': 0,
    'usages': 0,
    'aggregates': aggregates.SINCE,
    'traits': traits_api.SINCE,
    'allocations': 11,
}


def _show(context, row):
    path = context.path(f'/resource_providers/{row.uuid}')
    links = [{'rel': 'self', 'href': path}]
    links += [{'rel': rel, 'href': f'{path}/{rel}'} for rel, since in _LINKS.items() if context.minor >= since]
    shown = {'uuid': row.uuid, 'name': row.name, 'generation': row.generation, 'links': links}
    if context.minor >= TREES_SINCE:
        shown |= {'parent_provider_uuid': row.parent_provider_uuid, 'root_provider_uuid': row.root_provider_uuid}
    return shown
