"""The response with allocation candidates and the summaries of their providers, in the format of each version."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ironic_traits.api import rendering
from ironic_traits.api.chunks import Chunks
from ironic_traits.placement.candidates.allocation_candidates import Candidates, Singles
from ironic_traits.placement.candidates.candidate_requests import CandidateRequest
from ironic_traits.placement.candidates.candidate_summaries import Summary

#: The minor versions that brought allocations as objects by provider, and further parts of the response.
OBJECTS_SINCE = 12
TRAITS_SINCE = 17
ALL_RESOURCES_SINCE = 27
TREES_SINCE = 29
MAPPINGS_SINCE = 34

#: These stand for a uuid and for traits in templates. Neither names of resource classes nor suffixes contain them.
_PLACE, _TRAITS = '?', '!'
_LIST, _SEPARATOR = f'["{_TRAITS}"]'.encode(), '","'
#: Number of candidates that are rendered at once. It is the limit of nova's requests.
_BATCH = 1000


def dump(minor: int, request: CandidateRequest, result: Candidates | Singles) -> bytes | Chunks:
    """Return the response as JSON bytes; as Chunks if it has many candidates of one provider each."""
    requested = {name for group in request.groups for name in group.resources}
    if isinstance(result, Singles):
        return _singles(minor, requested, result)
    summaries = {uuid: _summary(minor, summary, requested) for uuid, summary in result.summaries.items()}
    candidates = [_candidate(minor, *candidate) for candidate in result.candidates]
    return rendering.dump({'allocation_requests': candidates, 'provider_summaries': summaries})


def _singles(minor: int, requested: set[str], result: Singles) -> bytes | Chunks:
    """Return the response for candidates that are one provider each.

    There may be thousands. To fill a template takes a fifth of the time for objects of dicts and lists, and half as
    long with bytes as with text.
    """
    resources, suffix = result.group.resources, result.group.suffix
    parts = rendering.dump(_candidate(minor, {_PLACE: resources}, {suffix: [_PLACE]})).split(_PLACE.encode())
    document = itertools.chain(
        [b'{"allocation_requests":['],
        _joined(uuid.encode().join(parts) for uuid, _ in result.summaries),
        [b'],"provider_summaries":{'],
        _joined(_summaries(minor, requested, result.summaries)),
        [b'}}'],
    )
    return Chunks(document) if len(result.summaries) > _BATCH else b''.join(document)


def _joined(items: Iterator[bytes]) -> Iterator[bytes]:
    """Yield items (bytes) with commas between them, many at a time."""
    separator = b''
    while batch := list(itertools.islice(items, _BATCH)):
        yield separator + b','.join(batch)
        separator = b','


def _summaries(minor: int, requested: set[str], summaries: Any) -> Iterator[bytes]:
    """Yield each summary as JSON, with its key."""
    last: dict[str, tuple[int, int]] = {}
    fill = _summary_template(minor, requested, last)
    for uuid, (_, _, resources, traits) in summaries:
        # Nearly all providers have the same resources as the one before.
        if resources != last:
            last, fill = resources, _summary_template(minor, requested, resources)
        yield fill(uuid.encode(), traits)


def _summary_template(
    minor: int, requested: set[str], resources: dict[str, tuple[int, int]]
) -> Callable[[bytes, Sequence[str]], bytes]:
    """Return the function from a uuid (bytes) and traits to a provider's summary as JSON, with its key."""
    document = {_PLACE: _summary(minor, Summary(None, _PLACE, resources, [_TRAITS]), requested)}
    before, has_traits, after = rendering.dump(document)[1:-1].partition(_LIST)
    begin, end = (part.split(_PLACE.encode()) for part in (before, after))

    def fill(uuid: bytes, traits: Sequence[str]) -> bytes:
        if not has_traits:
            return uuid.join(begin)
        names = b'["%b"]' % _SEPARATOR.join(traits).encode() if traits else b'[]'
        return b'%b%b%b' % (uuid.join(begin), names, uuid.join(end))

    return fill


def _candidate(
    minor: int, allocations: Mapping[str, Mapping[str, int]], mappings: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return a candidate in the format of the body of PUT /allocations at the version."""
    if minor < OBJECTS_SINCE:
        items = [{'resource_provider': {'uuid': uuid}, 'resources': amounts} for uuid, amounts in allocations.items()]
        return {'allocations': items}
    body = {'allocations': {uuid: {'resources': amounts} for uuid, amounts in allocations.items()}}
    return body | {'mappings': mappings} if minor >= MAPPINGS_SINCE else body


def _summary(minor: int, summary: Summary, requested: set[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        'resources': {
            name: {'capacity': capacity, 'used': used}
            for name, (capacity, used) in summary.resources.items()
            if minor >= ALL_RESOURCES_SINCE or name in requested
        }
    }
    if minor >= TRAITS_SINCE:
        document['traits'] = summary.traits
    if minor >= TREES_SINCE:
        document |= {'parent_provider_uuid': summary.parent, 'root_provider_uuid': summary.root}
    return document
