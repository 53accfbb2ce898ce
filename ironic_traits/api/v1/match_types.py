"""WSME types of requests for matching nodes, for /v1/matches and /v1/reservations."""

from collections.abc import Sequence
from typing import Any

import wsme.types

from ironic_traits.api import arguments, types
from ironic_traits.api.patch import given_fields
from ironic_traits.api.v1 import node_filters
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.traits import trait_catalogue
from ironic_traits.matching import requests, topology
from ironic_traits.matching.topology import Report
from ironic_traits.peers import glance, nova
from ironic_traits.resources.nodes import NODES

#: The filters of a list of nodes, except those on traits, resource class, instance, eligibility and reservation.
#: Any, because mypy knows no class that ``type`` makes.
_Filters: Any = type('_Filters', (types.Base,), arguments.body(NODES) | {'_since': arguments.since(NODES)})
#: The names of these filters.
FILTERS = tuple(attribute.name for attribute in wsme.types.list_attributes(_Filters))


class RequestBody(_Filters):
    """A request for nodes: the requirements of a flavor, of an image and of the client together, and filters."""

    flavor = types.Any()
    image = types.Any()
    required = types.Any()
    required_any = types.Any()
    forbidden = types.Any()
    preferred = types.Any()
    resource_class = types.Any()
    topology = types.Any()
    relative_to = types.Any()


_NAMES = wsme.types.ArrayType(str)


class WeightedTrait(types.Base):
    """A preferred trait."""

    trait = str
    weight = int


class Request(types.Base):
    """The requirements of a request, merged."""

    resource_class = str
    required = [str]
    required_any = [_NAMES]
    forbidden = [str]
    preferred = [WeightedTrait]
    placement_query = str
    instance_traits = [str]


class Match(types.Base):
    """A node that matches. ``groups`` has its group for each key of the topology."""

    uuid = types.UUID
    name = str
    resource_class = str
    traits = [str]
    groups = {str: str}


class GroupNumber(types.Base):
    """A group, and how many of the nodes are in it, with those of ``relative_to``."""

    value = str
    nodes = int


class PolicyReport(types.Base):
    """How far the nodes fulfil a policy."""

    key = str
    policy = str
    met = bool
    groups = [GroupNumber]


class RejectedBy(types.Base):
    """A clause of a request: how many nodes it rejects, and how many of these no other clause rejects."""

    clause = str
    rejected = int
    rejected_only = int


class Relaxation(types.Base):
    """Clauses to drop from the request, and how many nodes would match then."""

    drop = [str]
    nodes = int


class NearMiss(types.Base):
    """A node that nearly matches, and the clauses that reject it."""

    node = types.UUID
    name = str
    rejected_by = [str]


class GroupExplanation(types.Base):
    """The most nodes that can be chosen of some groups, and what to drop so that they are enough."""

    groups = {str: str}
    nodes = int
    relaxations = [Relaxation]


class TopologyExplanation(types.Base):
    """The explanation of why too few nodes fulfil a topology."""

    count = int
    largest = int
    groups = [GroupExplanation]


class Explanation(types.Base):
    """The explanation of why nodes do not match."""

    considered = int
    matched = int
    clauses = [RejectedBy]
    relaxations = [Relaxation]
    near_misses = [NearMiss]
    topology = TopologyExplanation


class HeldProvider(types.Base):
    """A resource provider that is allocated to an instance, and the traits that keep it from matching."""

    uuid = types.UUID
    missing = [str]
    forbidden = [str]
    missing_any = [_NAMES]


class Matches(types.Base):
    """The nodes that match a request; for an instance, whether its providers match."""

    request = Request
    warnings = [str]
    nodes = [Match]
    topology = [PolicyReport]
    deploy_templates = [str]
    explanation = Explanation
    satisfied = bool
    providers = [HeldProvider]


def has_requirements(body: Any) -> bool:
    """Whether a body has requirements or filters for nodes.

    :param body: RequestBody, or a subclass.
    """
    return bool(_requirements(body))


def read_request(context: Context, grant: Grant, body: Any, idents: tuple[str, ...] | None = None) -> NodeRequest:
    """Return the request for nodes in a body.

    :param body: RequestBody, or a subclass.
    :param idents: uuids and names of the candidates; None for all nodes.
    :raises failures.Failure: as ``requests.understand``, ``topology.parse``, ``node_filters.parse``,
        ``nova.flavor`` and ``glance.image`` do.
    """
    return read_documents(context, grant, body, idents)[0]


def read_documents(
    context: Context, grant: Grant, body: Any, idents: tuple[str, ...] | None = None
) -> tuple[NodeRequest, dict[str, Any]]:
    """Return the request for nodes in a body, as ``read_request`` does, and its requirements.

    :returns: NodeRequest, and the arguments of ``requests.understand``, with the documents of named flavors and images.
    """
    requirements = _requirements(body)
    filters, _ = node_filters.parse(context, {name: requirements.pop(name) for name in FILTERS if name in requirements})
    if 'flavor' in requirements:
        requirements['flavor'] = nova.flavor(context, requirements['flavor'])
    if 'image' in requirements:
        requirements['image'] = glance.image(context, requirements['image'])
    policies = topology.parse(requirements.pop('topology', None), requirements.pop('relative_to', None))
    node_request = NodeRequest(grant, requests.understand(**requirements), filters, idents, topology=policies)
    return node_request.without_exclusive(context.service), requirements


def reports(found: Sequence[Report]) -> list[dict[str, Any]]:
    """Return how far nodes fulfil policies, as [PolicyReport, …]."""
    return [
        {
            'key': policy.key,
            'policy': policy.name,
            'met': is_met,
            'groups': [{'value': value, 'nodes': number} for value, number in sorted(numbers.items())],
        }
        for policy, numbers, is_met in found
    ]


def warnings(context: Context, node_request: NodeRequest) -> list[str]:
    """Return the warnings for a request: of parts that are ignored, and of retired traits."""
    request = node_request.request
    return [*request.warnings, *trait_catalogue.warnings(context, request.names)]


def _requirements(body: Any) -> dict[str, Any]:
    names = {attribute.name for attribute in wsme.types.list_attributes(RequestBody)}
    return {name: value for name, value in given_fields(body).items() if name in names}
