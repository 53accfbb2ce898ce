"""/v1/nodes/{node}/traits"""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import responses, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, past_traits, trait_sources
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.traits import node_traits, trait_catalogue
from ironic_traits.inventory.traits.node_traits import Written
from ironic_traits.resources.additions import ADDED

#: The minor version that brought traits.
SINCE = 37
_SOURCE, _SOURCE_SINCE = {'source': types.WritableSource()}, {'source': ADDED}
_TRAIT = types.Trait()
_HOW_TO_PUT = (
    'A single node trait may be added via PUT /v1/nodes/<node identifier>/traits/<trait> with no body, or all node '
    'traits may be replaced via PUT /v1/nodes/<node identifier>/traits with the list of traits specified in the '
    'request body.'
)


class Traits(types.Base):
    """The traits of a node in a response; after a write by a source also those that it could not add."""

    traits = [str]
    vetoed = [str]


class TraitsBody(types.Base):
    """All traits of a node."""

    traits = [types.Trait()]


class VetoController(Resource):
    """The veto of a trait of a node."""

    @expose('baremetal:node:traits:set', of=access.node, since=ADDED)
    def delete(self, context: Context, node_ident: str, trait: str, /) -> None:
        node_traits.lift_veto(context, node_ident, trait)


class NodeTraitsController(Resource):
    """The traits of a node."""

    members = {'veto': VetoController()}

    @expose(
        'baremetal:node:traits:list',
        Traits,
        of=access.node,
        since=SINCE,
        before=406,
        query={'detail': types.BOOLEAN, 'at': types.QueryMoment()},
        query_since={'detail': ADDED, 'at': ADDED},
        or_returns=trait_sources.TraitSources,
    )
    def get_all(
        self, context: Context, grant: Grant, node_ident: str, /, *, detail: Any = None, at: Any = None
    ) -> dict[str, Any]:
        if at is not None:
            return past_traits.document(context, grant, at, detail)
        if detail:
            return trait_sources.document(node_traits.details(context, grant))
        return {'traits': node_traits.list_all(context, grant)}

    @expose(
        'baremetal:node:traits:set',
        Traits,
        of=access.node,
        since=SINCE,
        before=405,
        query=_SOURCE,
        query_since=_SOURCE_SINCE,
        body=Body(TraitsBody, optional=True),
        statuses=(200, 204),
    )
    def put(
        self, context: Context, node_ident: str, trait: str | None = None, /, *, body: Any, source: str | None = None
    ) -> Response:
        names = body.traits if body else wsme.types.Unset
        if (names is wsme.types.Unset) == (trait is None):
            raise failures.InvalidInput(reason=_HOW_TO_PUT)
        if trait is not None:
            return _add(context, node_ident, trait, source)
        if names is None or None in names:
            raise failures.InvalidInput(reason="'traits' must be a list of strings, without null.")
        written = node_traits.replace(context, node_ident, names, source)
        headers = _warnings(context, written)
        if source is not None:
            return Response({'traits': written.traits, 'vetoed': written.refused}, headers=headers)
        if context.conf.api.put_traits_returns == 'nothing':
            return Response(status=204, headers=headers)
        return Response({'traits': written.traits}, headers=headers)

    @expose('baremetal:node:traits:delete', of=access.node, since=SINCE, query=_SOURCE, query_since=_SOURCE_SINCE)
    def delete(self, context: Context, node_ident: str, trait: str | None = None, /, *, source: Any = None) -> None:
        if trait is None:
            node_traits.remove_all(context, node_ident, source)
        else:
            node_traits.remove(context, node_ident, trait, source)


def _add(context: Context, node_ident: str, trait: str, source: str | None) -> Response:
    name = _TRAIT.validate(trait)
    written = node_traits.add(context, node_ident, name, source)
    headers = _warnings(context, written)
    return Response(status=204, location=f'/v1/nodes/{node_ident}/traits/{name}', headers=headers)


def _warnings(context: Context, written: Written) -> dict[str, str]:
    """Return the header about the retired traits that a request wrote."""
    return responses.warnings(trait_catalogue.warnings(context, written.retired))
