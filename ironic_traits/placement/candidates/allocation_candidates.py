"""Allocation candidates: the allocations that would fulfil a request.

Most requests are about one unit of a node. Each node that fulfils such a request is a candidate by itself, and the
limit ends the query (``plain_candidates``, ``plain_providers``).
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from oslo_config import cfg

from ironic_traits.context import Context
from ironic_traits.matching.combinations import Candidate
from ironic_traits.placement.candidates import candidate_search, candidate_summaries, plain_candidates
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup, CandidateRequest
from ironic_traits.placement.candidates.candidate_search import Search
from ironic_traits.placement.candidates.candidate_summaries import Summary
from ironic_traits.placement.candidates.tree_candidates import Trees

T = TypeVar('T')


class Singles(NamedTuple):
    """Allocation candidates that are one provider each.

    :ivar group: the group of the request.
    :ivar summaries: [(uuid of the provider, Summary), …] of the candidates.
    """

    group: CandidateGroup
    summaries: list[tuple[str, Summary]]


class Candidates(NamedTuple):
    """Allocation candidates.

    :ivar candidates: [({provider uuid: {resource class: amount}}, {suffix: [provider uuid, …]}), …], the allocations
        and the mappings of each.
    :ivar summaries: {provider uuid: Summary} of the trees that they take from.
    """

    candidates: list[tuple[dict[str, dict[str, int]], dict[str, list[str]]]]
    summaries: dict[str, Summary]


def find(context: Context, request: CandidateRequest) -> Candidates | Singles:
    """Find allocation candidates.

    :returns: Singles if a candidate is one provider, because there are neither trees nor several groups.
    :raises failures.TraitNotFound: traits do not exist.
    """
    conf = context.conf.placement
    most = conf.max_allocation_candidates if conf.max_allocation_candidates > 0 else None
    limit = min((each for each in (request.limit, most) if each and each > 0), default=None)
    # To choose some at random, all that the configuration allows are read.
    of_queries = most if conf.randomize_allocation_candidates else limit
    request = candidate_search.without_exclusive(context, request)
    with context.read() as connection:
        search = Search(connection, conf, request)
        if search.is_plain:
            plain = plain_candidates.find(connection, _plain(search, of_queries), context.service.trait_cache)
            return Singles(request.groups[0], _some(plain, conf, limit))
        by_turns = conf.allocation_candidates_generation_strategy == 'breadth-first'
        found = _all(search, by_turns, of_queries)
        if not conf.randomize_allocation_candidates:
            found = itertools.islice(found, limit)
        return _shown(search, _some(list(found), conf, limit))


def _some(found: list[T], conf: cfg.ConfigOpts.GroupAttr, limit: int | None) -> list[T]:
    """Return candidates up to a limit, at random if the options say so."""
    if conf.randomize_allocation_candidates:
        random.shuffle(found)
    return found[:limit]


def _all(search: Search, by_turns: bool, limit: int | None) -> Iterator[Candidate]:
    """Yield candidates. ``limit`` allows a query to stop early; it does not limit what is yielded."""
    if search.nodes_suffice:
        yield from _nodes(search, limit)
    yield from Trees(search).candidates(by_turns)


def _nodes(search: Search, limit: int | None) -> Iterator[Candidate]:
    """Yield the candidates that are one free node."""
    (group,) = search.request.groups
    for statement in plain_candidates.free_nodes(_plain(search, limit)):
        for row in search.read(statement):
            amounts = frozenset(((row.id, class_id), 1) for class_id in search.class_ids.values())
            yield Candidate(amounts, frozenset(((group.suffix, frozenset((row.id,))),)))


def _plain(search: Search, limit: int | None) -> plain_candidates.PlainSearch:
    """Return the search for candidates that are one provider each."""
    request, facts = search.request, search.facts
    items = tuple(facts.class_ids.items()), tuple(sorted(facts.holders.items())), tuple(facts.node_classes)
    dialect, (group,) = search.connection.dialect.name, request.groups
    forbidden = request.root_required, request.exclusive, search.nested
    return plain_candidates.PlainSearch(dialect, group, *forbidden, *items, limit)


def _shown(search: Search, candidates: Sequence[Candidate]) -> Candidates:
    """Return candidates with uuids and names instead of ids, and summaries of the trees that they take from.

    :param candidates: [matching.combinations.Candidate, …].
    """
    names = {class_id: name for name, class_id in search.class_ids.items()}
    shown = []
    for candidate in candidates:
        allocations: dict[str, dict] = {}
        for (provider_id, class_id), amount in candidate.amounts:
            allocations.setdefault(search.providers[provider_id].uuid, {})[names[class_id]] = amount
        mappings = {
            suffix: sorted(search.providers[provider_id].uuid for provider_id in providers)
            for suffix, providers in candidate.mappings
        }
        shown.append((allocations, mappings))
    used = {provider_id for candidate in candidates for (provider_id, _), _ in candidate.amounts}
    roots = {search.providers[provider_id].root_provider_uuid for provider_id in used}
    summaries = candidate_summaries.summarize_trees(search.connection, roots)
    if search.request.flat and search.nested:
        kept = {search.providers[provider_id].uuid for provider_id in used}
        summaries = {uuid: summary for uuid, summary in summaries.items() if uuid in kept}
    return Candidates(shown, summaries)
