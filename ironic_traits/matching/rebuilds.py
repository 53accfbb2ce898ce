"""Whether the providers that an instance holds fulfil a request. Pure: no database access."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ironic_traits.matching.requests import Request
from ironic_traits.matching.traits import FORBIDDEN, REQUIRED, REQUIRED_ANY, TermKind


@dataclasses.dataclass(frozen=True)
class HeldProvider:
    """A provider that an instance holds.

    :ivar uuid: of the provider.
    :ivar traits: {name, …}, a frozenset.
    :ivar is_node: whether it is a node: a deploy checks a node's own traits alone.
    """

    uuid: str
    traits: frozenset[str]
    is_node: bool


def check(request: Request, held: Sequence[HeldProvider]) -> list[dict[str, Any]]:
    """Return which required traits each provider lacks, and which forbidden ones it has.

    A node must have all required traits itself, or Ironic would refuse the rebuild. For other providers (nested ones,
    for example) it is enough if any held provider has a required trait, as in nova's image-traits specification.

    :param held: [HeldProvider, …].
    :returns: [{'uuid': uuid, 'missing': [trait, …], 'forbidden': [trait, …]}, …], with 'missing_any': [[trait, …], …]
        if the request has ``required_any``. All these lists are empty if the request is fulfilled.
    """
    together: frozenset[str] = frozenset().union(*(each.traits for each in held))
    return [_check_one(request, each, each.traits if each.is_node else together) for each in held]


def fulfilled(providers: list[dict[str, Any]]) -> bool:
    """Whether the result of ``check`` has no missing and no forbidden traits."""
    return not any(provider[key] for provider in providers for key in provider if key != 'uuid')


def _check_one(request: Request, held: HeldProvider, present: frozenset[str]) -> dict[str, Any]:
    failed: dict[TermKind, list[list[str]]] = {kind: [] for kind in (REQUIRED, REQUIRED_ANY, FORBIDDEN)}
    for term in request.filter.terms():
        if not term.passes(present if term.kind.wants else held.traits):
            failed[term.kind].append(sorted(term.traits))
    result: dict[str, Any] = {
        'uuid': held.uuid,
        'missing': [name for (name,) in failed[REQUIRED]],
        'forbidden': [name for (name,) in failed[FORBIDDEN]],
    }
    return result | ({'missing_any': failed[REQUIRED_ANY]} if request.required_any else {})
