"""/placement/allocation_candidates"""

import re

from oslo_utils import uuidutils

from ironic_traits.api.placement import query as arguments
from ironic_traits.api.placement.expose import Answer, expose, now
from ironic_traits.api.placement.schemas import MAX_INTEGER, TEXT, canonical, document
from ironic_traits.api.resource import Resource
from ironic_traits.placement import allocation_candidates, capacity, failures
from ironic_traits.placement.allocation_candidates import Group, Request

#: The minor versions that brought candidates, requests in the form of PUT /allocations, and what came to them.
SINCE = 10
OBJECTS_SINCE = 12
TRAITS_SINCE = 17
GROUPS_SINCE = 25
ALL_RESOURCES_SINCE = 27
TREES_SINCE = 29
IN_TREE_SINCE = 31
SUFFIXES_SINCE = 33
MAPPINGS_SINCE = 34
ROOT_SINCE = 35
SUBTREES_SINCE = 36

#: Most groups of one request.
MOST_GROUPS = 50

_LIMIT = {'type': ['integer', 'string'], 'pattern': r'^[1-9][0-9]*\Z', 'minimum': 1, 'minLength': 1}
_NUMBER, _SUFFIX = '[1-9][0-9]*', '[a-zA-Z0-9_-]{1,64}'
_OF_GROUP = ('resources', 'required', 'member_of')


def _grouped(suffix, names, more=()):
    """Make the schema of a query with groups.

    :param suffix: pattern of what may follow the names.
    :param more: names of arguments that are there once.
    """
    once = {'limit': _LIMIT, 'group_policy': TEXT | {'enum': ['none', 'isolate']}, **dict.fromkeys(more, TEXT)}
    # The patterns are part of the wire; what they let pass, a newline at the end, makes no group.
    return document(once) | {'patternProperties': {f'^{name}({suffix})?$': TEXT for name in names}}


_QUERY = {
    SINCE: document({'resources': TEXT}, ['resources']),
    16: document({'resources': TEXT, 'limit': _LIMIT}, ['resources']),
    TRAITS_SINCE: document({'resources': TEXT, 'limit': _LIMIT, 'required': TEXT}, ['resources']),
    21: document({'resources': TEXT, 'limit': _LIMIT, 'required': TEXT, 'member_of': TEXT}, ['resources']),
    GROUPS_SINCE: _grouped(_NUMBER, _OF_GROUP),
    IN_TREE_SINCE: _grouped(_NUMBER, (*_OF_GROUP, 'in_tree')),
    SUFFIXES_SINCE: _grouped(_SUFFIX, (*_OF_GROUP, 'in_tree')),
    ROOT_SINCE: _grouped(_SUFFIX, (*_OF_GROUP, 'in_tree'), ['root_required']),
    SUBTREES_SINCE: _grouped(_SUFFIX, (*_OF_GROUP, 'in_tree'), ['root_required', 'same_subtree']),
}


class AllocationCandidatesController(Resource):
    """What could be allocated to fulfil a request."""

    since = SINCE

    @expose('placement:allocation_candidates:list', since=SINCE, query=_QUERY)
    def get_all(self, context, /, *, query):
        request = _request(query, context.minor)
        try:
            candidates, summaries = allocation_candidates.find(context, request)
        except failures.ResourceClassNotFound as error:
            raise failures.BadRequest(reason=f'Invalid resource class in resources parameter: {error}') from error
        except failures.TraitNotFound as error:
            raise failures.BadRequest(reason=str(error)) from error
        asked = {name for group in request.groups for name in group.resources}
        body = {
            'allocation_requests': [_show(context.minor, *candidate) for candidate in candidates],
            'provider_summaries': {
                uuid: _summary(context.minor, summary, asked) for uuid, summary in summaries.items()
            },
        }
        return Answer(body, now())


def _request(query, minor):
    """Read what the query asks for."""
    subtrees = _subtrees(query.getall('same_subtree'))
    groups = _groups(query, minor)
    if minor >= SUBTREES_SINCE:
        _check_subtrees(groups, set().union(*subtrees))
    else:
        _check_resources(groups)
    # The first counts of what is there several times, as in the real service.
    policy, limit = (next(iter(query.getall(name)), None) for name in ('group_policy', 'limit'))
    if not policy and sum(bool(group.suffix) for group in groups) > 1:
        raise failures.BadRequest(
            reason='The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.'
        )
    return Request(
        groups=groups,
        limit=limit and min(int(limit[:10]), MAX_INTEGER),
        isolate=policy == 'isolate',
        root_required=_root_required(query.getall('root_required')),
        subtrees=subtrees,
        flat=minor < TREES_SINCE,
    )


def _groups(query, minor):
    """Read the groups of a request, in the order in which the query names them."""
    form = re.compile(rf'(resources|required|member_of|in_tree)({_SUFFIX if minor >= SUFFIXES_SINCE else _NUMBER})?')
    matches = filter(None, (form.fullmatch(name) for name in query))
    suffixes = dict.fromkeys(match[2] or '' for match in matches)
    if len(suffixes) > MOST_GROUPS:
        raise failures.BadRequest(reason=f'Invalid query string parameters: {MOST_GROUPS} groups at most.')
    return [_group(query, suffix, minor) for suffix in suffixes]


def _group(query, suffix, minor):
    given = query.get(f'resources{suffix}')
    required, forbidden = arguments.required(f'required{suffix}', query.getall(f'required{suffix}'), minor)
    member_of, not_member_of = arguments.member_of(f'member_of{suffix}', query.getall(f'member_of{suffix}'), minor)
    in_tree = query.get(f'in_tree{suffix}')
    if in_tree is not None and not uuidutils.is_uuid_like(in_tree.strip()):
        raise failures.BadRequest(
            reason="Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: "
            f'{in_tree}'
        )
    return Group(
        suffix=suffix,
        resources=arguments.resources(given) if given is not None else {},
        required=required,
        forbidden=frozenset(forbidden),
        member_of=member_of,
        not_member_of=frozenset(not_member_of),
        in_tree=in_tree and canonical(in_tree.strip()),
    )


def _check_resources(groups):
    """Do nothing when each group wants resources, and there is one."""
    lonely = [group for group in groups if not group.resources]
    for what, orphans in (
        ('required', [group for group in lonely if group.required]),
        ('member_of', [group for group in lonely if group.member_of or group.not_member_of]),
    ):
        if orphans:
            keys = ', '.join(f'{what}{group.suffix}' for group in orphans)
            named = {'required': 'traits', 'member_of': 'member_of'}[what]
            raise failures.BadRequest(
                reason=f'All {named} parameters must be associated with resources. Found the following orphaned '
                f'{named} keys: {keys}'
            )
    if lonely:
        raise failures.BadRequest(reason='All request groups must specify resources.')
    if not groups:
        raise failures.BadRequest(reason='At least one request group (`resources` or `resources{$S}`) is required.')


def _check_subtrees(groups, subtrees):
    """Do nothing when there are resources, and groups without any are in a subtree with others."""
    suffixes = [group.suffix for group in groups]
    lonely = [group.suffix for group in groups if not group.resources]
    if len(lonely) == len(groups):
        raise failures.MissingValue(reason='There must be at least one resources or resources[$S] parameter.')
    alone = [suffix for suffix in lonely if suffix not in subtrees]
    if alone:
        raise failures.BadValue(
            reason='Resourceless suffixed group request should be specified in `same_subtree` query param: bad '
            f'group(s) - {alone}.'
        )
    unknown = sorted(subtrees.difference(suffixes))
    if unknown:
        raise failures.BadValue(
            reason=f'Real suffixes should be specified in `same_subtree`: {unknown} not found in {suffixes}.'
        )


def _root_required(values):
    if not values:
        return None
    if len(values) > 1:
        raise failures.DuplicateKey(reason="Query parameter 'root_required' may be specified only once.")
    # One of several traits is not known here.
    before = arguments.ANY_SINCE - 1
    try:
        return arguments.required('root_required', values, before)
    except failures.ConflictingTraits as error:
        raise failures.BadValue(
            reason=f'Conflicting required and forbidden traits found in root_required: {error.facts["names"]}'
        ) from error


def _subtrees(values):
    subtrees = [{suffix.strip() for suffix in value.split(',')} for value in values]
    if any('' in suffixes for suffixes in subtrees):
        raise failures.BadValue(reason='Empty string (unsuffixed group) can not be specified in `same_subtree` ')
    return subtrees


def _show(minor, taken, mappings):
    """Show a candidate, in the form of what PUT /allocations takes at the version."""
    if minor < OBJECTS_SINCE:
        listed = [{'resource_provider': {'uuid': uuid}, 'resources': given} for uuid, given in taken.items()]
        return {'allocations': listed}
    shown = {'allocations': {uuid: {'resources': resources} for uuid, resources in taken.items()}}
    return shown | {'mappings': mappings} if minor >= MAPPINGS_SINCE else shown


def _summary(minor, summary, asked):
    shown = {
        'resources': {
            row.resource_class: {'capacity': capacity.units(row), 'used': int(row.used)}
            for row in summary.resources
            if minor >= ALL_RESOURCES_SINCE or row.resource_class in asked
        }
    }
    if minor >= TRAITS_SINCE:
        shown['traits'] = summary.traits
    if minor >= TREES_SINCE:
        shown |= {
            'parent_provider_uuid': summary.row.parent_provider_uuid,
            'root_provider_uuid': summary.row.root_provider_uuid,
        }
    return shown
