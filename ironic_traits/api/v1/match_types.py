"""What clients say when they want nodes by what they must be: of /v1/matches and of /v1/reservations."""

import wsme.types

from ironic_traits import glance
from ironic_traits.api import types
from ironic_traits.api.patch import given
from ironic_traits.api.v1 import node_filters
from ironic_traits.inventory.matches import NodeRequest
from ironic_traits.matching import requests


class Filters(wsme.types.Base):
    """The filters of a list of nodes: all but those that the request itself stands for."""

    associated = types.BOOLEAN
    chassis_uuid = types.UUID
    conductor = types.TEXT_255
    conductor_group = types.ConductorGroup()
    description_contains = types.Text(maximum=4096)
    driver = types.TEXT_255
    fault = types.Fault()
    lessee = types.TEXT_255
    maintenance = types.BOOLEAN
    owner = types.TEXT_255
    project = types.TEXT_255
    provision_state = types.TEXT_255
    retired = types.BOOLEAN
    shard = types.Texts()
    sharded = types.BOOLEAN


#: Their names.
FILTERS = tuple(attribute.name for attribute in wsme.types.list_attributes(Filters))


class RequestBody(Filters):
    """A request: the union of what a flavor, an image and a client ask for, and filters."""

    flavor = types.Any()
    image = types.Any()
    required = types.Any()
    required_any = types.Any()
    forbidden = types.Any()
    preferred = types.Any()
    resource_class = types.Any()


_NAMES = wsme.types.ArrayType(str)


class Weighed(wsme.types.Base):
    """A trait that nodes had better have."""

    trait = str
    weight = int


class Request(wsme.types.Base):
    """A request as it was understood."""

    resource_class = str
    required = [str]
    required_any = [_NAMES]
    forbidden = [str]
    preferred = [Weighed]
    placement_query = str
    instance_traits = [str]


class Match(wsme.types.Base):
    """A node that matches."""

    uuid = types.UUID
    name = str
    resource_class = str
    traits = [str]


class RejectedBy(wsme.types.Base):
    """How many nodes one clause rejects, and how many no other one does."""

    clause = str
    rejected = int
    rejected_only = int


class Relaxation(wsme.types.Base):
    """What not to ask for, and how many nodes would match then."""

    drop = [str]
    nodes = int


class NearMiss(wsme.types.Base):
    """A node that nearly matches, and all that it fails."""

    node = types.UUID
    name = str
    rejected_by = [str]


class Explanation(wsme.types.Base):
    """Why nodes do not match."""

    considered = int
    matched = int
    clauses = [RejectedBy]
    relaxations = [Relaxation]
    near_misses = [NearMiss]


class HeldProvider(wsme.types.Base):
    """A provider that an instance holds, and what keeps it from matching."""

    uuid = types.UUID
    missing = [str]
    forbidden = [str]
    missing_any = [_NAMES]


class Matches(wsme.types.Base):
    """The nodes that match; of an instance, whether what it holds does."""

    request = Request
    warnings = [str]
    nodes = [Match]
    explanation = Explanation
    satisfied = bool
    providers = [HeldProvider]


def is_stated(body):
    """Tell whether a body says anything of what nodes must be."""
    return bool(_said(body))


def wanted(context, body, idents=None):
    """Give the nodes that a body asks for.

    :param body: RequestBody, or more.
    :param idents: uuids and names of the nodes that it may be, a tuple; None for all nodes.
    :returns: ironic_traits.inventory.matches.NodeRequest.
    :raises failures.Failure: what ``requests.understand``, ``node_filters.parse`` and ``glance.image`` raise.
    """
    said = _said(body)
    filters, _ = node_filters.parse(context, {name: said.pop(name) for name in FILTERS if name in said})
    if 'image' in said:
        said['image'] = glance.image(context, said['image'])
    return NodeRequest(requests.understand(**said), filters, idents)


def _said(body):
    named = {attribute.name for attribute in wsme.types.list_attributes(RequestBody)}
    return {name: value for name, value in given(body).items() if name in named and value is not None}
