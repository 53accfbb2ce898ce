"""/v1/explanations: why a query for allocation candidates has none, or few."""

import dataclasses
from typing import Any

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.placement import allocation_candidates
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.capacity import Figures
from ironic_traits.api.v1.match_types import RejectedBy
from ironic_traits.context import Context, Grant
from ironic_traits.placement import failures
from ironic_traits.placement.candidates import explanations
from ironic_traits.resources.additions import ADDED


class ExplanationBody(types.Base):
    """A query for allocation candidates."""

    query = wsme.types.wsattr(types.TEXT, mandatory=True)


class QueryRelaxation(types.Base):
    """Clauses to drop from the query, and how many providers, or trees, have a candidate then."""

    drop = [str]
    matched = int


class QueryExplanation(types.Base):
    """The explanation of a query."""

    units = str
    considered = int
    matched = int
    clauses = [RejectedBy]
    relaxations = [QueryRelaxation]
    nodes = Figures
    warnings = [str]


class ExplanationsController(Resource):
    """Explanations of queries for allocation candidates."""

    since = ADDED

    @expose('baremetal:explanation:get', QueryExplanation, since=ADDED, body=ExplanationBody)
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> dict[str, Any]:
        request = allocation_candidates.parse(body.query)
        try:
            result = explanations.explain(context, grant, request)
        except (failures.ResourceClassNotFound, failures.TraitNotFound) as error:
            raise failures.BadRequest(reason=str(error)) from error
        nodes = dataclasses.asdict(result.nodes) if result.nodes else None
        return result._asdict() | {'nodes': nodes}
