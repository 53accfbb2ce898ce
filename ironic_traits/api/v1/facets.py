"""/v1/facets"""

from collections.abc import Sequence
from typing import Any

import wsme.types

from ironic_traits import failures, spelling
from ironic_traits.api import responses, types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import node_filters
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.search import facets
from ironic_traits.resources.additions import ADDED

#: The number of values of a field, unless the request says how many.
_LIMIT = 100
_PAGING = ('marker', 'sort_key', 'sort_dir')
_QUERY = {name: datatype for name, datatype in node_filters.QUERY.items() if name not in _PAGING}


class Count(types.Base):
    """A value of a field, and the number of nodes that have it."""

    value = types.Any()
    nodes = int


class Facets(types.Base):
    """The number of nodes, and how many of them have each value of a field."""

    nodes = int
    facets = {str: wsme.types.ArrayType(Count)}


class FacetsController(Resource):
    """The facets of a list of nodes."""

    since = ADDED

    @expose('baremetal:node:list', Facets, since=ADDED, query=_QUERY | {'by': types.Names()})
    def get_all(self, context: Context, grant: Grant, /, *, by: Sequence[str] = (), **query: Any) -> Response:
        names = (*facets.FIELDS, facets.TRAITS)
        if unknown := [name for name in by if name not in names]:
            every = f'but by: {", ".join(names)}.{spelling.hint(unknown[0], names)}'
            raise failures.InvalidInput(reason=f"Nodes cannot be counted by '{unknown[0]}', {every}")
        filters, traits = node_filters.parse(context, query)
        limit = min(query.get('limit', _LIMIT), context.conf.api.max_limit)
        counts = facets.count(context, grant, by, filters, traits, limit)
        document = {
            'nodes': counts.nodes,
            'facets': {
                name: [{'value': value, 'nodes': nodes} for value, nodes in values]
                for name, values in counts.facets.items()
            },
        }
        return Response(document, headers={} if counts.nodes else absences(context, grant, query))


def absences(context: Context, grant: Grant, query: dict[str, Any]) -> dict[str, str]:
    """Return the header about required traits that no node has which the caller may see.

    :param query: {query parameter: value} of a list of nodes.
    """
    names = facets.absent_traits(context, grant, node_filters.parse(context, query)[1])
    return responses.warnings([f'No node that you may see has the trait {name}.' for name in names])
