"""/placement/allocation_candidates"""

import re
import urllib.parse
from collections.abc import Collection, Iterable

from oslo_utils import uuidutils
from webob.multidict import MultiDict

from ironic_traits.api.placement import candidate_documents, query_parameters, validation
from ironic_traits.api.placement.candidate_documents import (
    MAPPINGS_SINCE,
    OBJECTS_SINCE,
    TRAITS_SINCE,
    TREES_SINCE,
)
from ironic_traits.api.placement.expose import expose, now
from ironic_traits.api.placement.microversions import MAXIMUM
from ironic_traits.api.placement.schemas import (
    MAX_INTEGER,
    NAME,
    NATURAL,
    TEXT,
    UUID,
    UUID_KEY,
    Schema,
    array,
    document,
    growing,
    response,
    table,
)
from ironic_traits.api.placement.validation import at
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import failures
from ironic_traits.placement.candidates import allocation_candidates
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup, CandidateRequest
from ironic_traits.uuids import canonical

#: The minor versions that brought candidates, and further features of requests.
SINCE = 10
GROUPS_SINCE = 25
IN_TREE_SINCE = 31
SUFFIXES_SINCE = 33
ROOT_SINCE = 35
SUBTREES_SINCE = 36

#: Maximum number of groups in one request.
MAX_GROUPS = 50

_LIMIT: Schema = {'type': ['integer', 'string'], 'pattern': r'^[1-9][0-9]*\Z', 'minimum': 1, 'minLength': 1}
_NUMBER, _SUFFIX = '[1-9][0-9]*', '[a-zA-Z0-9_-]{1,64}'
_OF_GROUP = ('resources', 'required', 'member_of')


def _grouped(suffix: str, names: Iterable[str], more: Iterable[str] = ()) -> Schema:
    """Return the schema of a query with groups.

    :param suffix: pattern of the suffixes.
    :param names: names of the parameters that may have a suffix.
    :param more: names of further parameters, without suffixes.
    """
    plain = {'limit': _LIMIT, 'group_policy': TEXT | {'enum': ['none', 'isolate']}, **dict.fromkeys(more, TEXT)}
    # The patterns appear in messages, so they stay as in Placement. They accept a newline at the end of a name, which
    # ``_groups`` ignores.
    return document(plain) | {'patternProperties': {f'^{name}({suffix})?$': TEXT for name in names}}


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

_AMOUNTS = table(NAME, NATURAL)
_PROVIDER_SHOWN = response({'uuid': UUID})
#: A candidate, and the summary of a provider, at each version that changed them.
_CANDIDATES = {
    SINCE: response({'allocations': array(response({'resource_provider': _PROVIDER_SHOWN, 'resources': _AMOUNTS}))}),
    **growing(
        {
            OBJECTS_SINCE: {'allocations': table(UUID_KEY, response({'resources': _AMOUNTS}))},
            MAPPINGS_SINCE: {'mappings': {'type': 'object', 'additionalProperties': array(UUID)}},
        }
    ),
}
_SUMMARIES = growing(
    {
        SINCE: {'resources': table(NAME, response({'capacity': {'type': 'integer'}, 'used': {'type': 'integer'}}))},
        TRAITS_SINCE: {'traits': array(TEXT)},
        TREES_SINCE: {'parent_provider_uuid': {'anyOf': [UUID, {'type': 'null'}]}, 'root_provider_uuid': UUID},
    }
)
_SHOWN = {
    minor: {
        200: response(
            {
                'allocation_requests': array(at(_CANDIDATES, minor)),
                'provider_summaries': table(UUID_KEY, at(_SUMMARIES, minor)),
            }
        )
    }
    for minor in sorted({*_CANDIDATES, *_SUMMARIES})
}


_VALIDATORS = validation.validators(_QUERY)


class AllocationCandidatesController(Resource):
    """The allocations that would fulfil a request."""

    since = SINCE

    @expose('placement:allocation_candidates:list', since=SINCE, query=_QUERY, returns=_SHOWN)
    def get_all(self, context: Context, /, *, query: MultiDict) -> Response:
        request = _request(query, context.minor)
        try:
            result = allocation_candidates.find(context, request)
        except failures.ResourceClassNotFound as error:
            raise failures.BadRequest(reason=f'Invalid resource class in resources parameter: {error}') from error
        except failures.TraitNotFound as error:
            raise failures.BadRequest(reason=str(error)) from error
        return Response(candidate_documents.dump(context.minor, request, result), modified=now())


def parse(text: str) -> CandidateRequest:
    """Return the CandidateRequest of a query string at the newest version.

    :raises failures.PlacementFailure: it is not valid.
    """
    query = MultiDict(urllib.parse.parse_qsl(text.removeprefix('?'), keep_blank_values=True))
    validation.check_query(_VALIDATORS[SUBTREES_SINCE], query)
    return _request(query, MAXIMUM)


def _request(query: MultiDict, minor: int) -> CandidateRequest:
    """Return the CandidateRequest of a query."""
    subtrees = _subtrees(query.getall('same_subtree'))
    groups = _groups(query, minor)
    if minor >= SUBTREES_SINCE:
        _check_subtrees(groups, set().union(*subtrees))
    else:
        _check_resources(groups)
    # As in Placement, the first value of a repeated parameter counts.
    policy, limit = (next(iter(query.getall(name)), None) for name in ('group_policy', 'limit'))
    if not policy and sum(bool(group.suffix) for group in groups) > 1:
        raise failures.BadRequest(
            reason='The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.'
        )
    return CandidateRequest(
        groups=groups,
        limit=limit and min(int(limit[:10]), MAX_INTEGER),
        isolate=policy == 'isolate',
        root_required=_root_required(query.getall('root_required')),
        subtrees=subtrees,
        flat=minor < TREES_SINCE,
    )


def _groups(query: MultiDict, minor: int) -> list[CandidateGroup]:
    """Return the groups of a query, in the order in which it names them."""
    form = re.compile(rf'(resources|required|member_of|in_tree)({_SUFFIX if minor >= SUFFIXES_SINCE else _NUMBER})?')
    matches = filter(None, (form.fullmatch(name) for name in query))
    suffixes = dict.fromkeys(match[2] or '' for match in matches)
    if len(suffixes) > MAX_GROUPS:
        raise failures.BadRequest(
            reason=f'Invalid query string parameters: at most {MAX_GROUPS} groups are allowed, not {len(suffixes)}.'
        )
    return [_group(query, suffix, minor) for suffix in suffixes]


def _group(query: MultiDict, suffix: str, minor: int) -> CandidateGroup:
    resources = query.get(f'resources{suffix}')
    required, forbidden = query_parameters.required(f'required{suffix}', query.getall(f'required{suffix}'), minor)
    member_of, not_member_of = query_parameters.member_of(
        f'member_of{suffix}', query.getall(f'member_of{suffix}'), minor
    )
    in_tree = query.get(f'in_tree{suffix}')
    if in_tree is not None and not uuidutils.is_uuid_like(in_tree.strip()):
        raise failures.BadRequest(
            reason="Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: "
            f'{in_tree}'
        )
    return CandidateGroup(
        suffix=suffix,
        resources=query_parameters.resources(resources) if resources is not None else {},
        required=required,
        forbidden=frozenset(forbidden),
        member_of=member_of,
        not_member_of=frozenset(not_member_of),
        in_tree=in_tree and canonical(in_tree.strip()),
    )


def _check_resources(groups: Collection[CandidateGroup]) -> None:
    """Raise BadRequest unless there is a group, and every group has resources."""
    without = [group for group in groups if not group.resources]
    for name, orphans in (
        ('required', [group for group in without if group.required]),
        ('member_of', [group for group in without if group.member_of or group.not_member_of]),
    ):
        if orphans:
            keys = ', '.join(f'{name}{group.suffix}' for group in orphans)
            title = {'required': 'traits', 'member_of': 'member_of'}[name]
            raise failures.BadRequest(
                reason=f'All {title} parameters must be associated with resources. Found the following orphaned '
                f'{title} keys: {keys}'
            )
    if without:
        raise failures.BadRequest(reason='All request groups must specify resources.')
    if not groups:
        raise failures.BadRequest(reason='At least one request group (`resources` or `resources{$S}`) is required.')


def _check_subtrees(groups: Collection[CandidateGroup], subtrees: set[str]) -> None:
    """Raise unless a group has resources, every group without resources is in a subtree, and all suffixes exist.

    :param subtrees: the suffixes in ``same_subtree``, a set.
    :raises failures.MissingValue: no group has resources.
    :raises failures.BadValue: a group without resources is in no subtree, or a subtree has an unknown suffix.
    """
    suffixes = [group.suffix for group in groups]
    without = [group.suffix for group in groups if not group.resources]
    if len(without) == len(groups):
        raise failures.MissingValue(reason='There must be at least one resources or resources[$S] parameter.')
    orphans = [suffix for suffix in without if suffix not in subtrees]
    if orphans:
        raise failures.BadValue(
            reason='Resourceless suffixed group request should be specified in `same_subtree` query param: bad '
            f'group(s) - {orphans}.'
        )
    unknown = sorted(subtrees.difference(suffixes))
    if unknown:
        raise failures.BadValue(
            reason=f'Real suffixes should be specified in `same_subtree`: {unknown} not found in {suffixes}.'
        )


def _root_required(values: list[str]) -> tuple[tuple[frozenset[str], ...], frozenset[str]] | None:
    if not values:
        return None
    if len(values) > 1:
        raise failures.DuplicateKey(reason="Query parameter 'root_required' may be specified only once.")
    # root_required does not support ``in:``, so it is read as in the version before that.
    try:
        required, forbidden = query_parameters.required('root_required', values, query_parameters.ANY_SINCE - 1)
        return tuple(map(frozenset, required)), frozenset(forbidden)
    except failures.ConflictingTraits as error:
        raise failures.BadValue(
            reason=f'Conflicting required and forbidden traits found in root_required: {error.facts["names"]}'
        ) from error


def _subtrees(values: list[str]) -> list[set[str]]:
    subtrees = [{suffix.strip() for suffix in value.split(',')} for value in values]
    if any('' in suffixes for suffixes in subtrees):
        raise failures.BadValue(reason='Empty string (unsuffixed group) can not be specified in `same_subtree` ')
    return subtrees
