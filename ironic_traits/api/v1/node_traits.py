"""/v1/nodes/{node}/traits"""

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import Response, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.inventory import node_traits

#: The minor version that brought traits.
SINCE = 37
_TRAIT = types.Trait()
_HOW_TO_PUT = (
    'A single node trait may be added via PUT /v1/nodes/<node identifier>/traits/<trait> with no body, or all node '
    'traits may be replaced via PUT /v1/nodes/<node identifier>/traits with the list of traits specified in the '
    'request body.'
)


class Traits(wsme.types.Base):
    """The traits of a node in a response."""

    traits = [str]


class TraitsBody(wsme.types.Base):
    """All traits of a node."""

    traits = [types.Trait()]


class NodeTraitsController(Resource):
    """The traits of a node."""

    @expose(Traits)
    def get_all(self, context, node_ident, /):
        context.limit_to('baremetal:node:traits:list')
        context.needs(SINCE, 'traits')
        return {'traits': node_traits.list_all(context, access.node(context, node_ident))}

    @expose(Traits, body=TraitsBody, optional_body=True)
    def put(self, context, node_ident, trait=None, /, *, body):
        context.limit_to('baremetal:node:traits:set')
        if context.minor < SINCE:
            raise failures.MethodNotAllowed(reason=f'Traits need API version 1.{SINCE}.')
        names = body.traits if body else wsme.types.Unset
        if (names is wsme.types.Unset) == (trait is None):
            raise failures.InvalidInput(reason=_HOW_TO_PUT)
        if trait is not None:
            return _add(context, node_ident, trait)
        if names is None or None in names:
            raise failures.InvalidInput(reason="'traits' must be a list of strings, without null.")
        traits = node_traits.replace(context, access.node(context, node_ident), names)
        if context.conf.api.put_traits_returns == 'nothing':
            return Response(status=204)
        return {'traits': traits}

    @expose()
    def delete(self, context, node_ident, trait=None, /):
        context.limit_to('baremetal:node:traits:delete')
        if context.minor < SINCE:
            raise failures.ResourceNotFound(hint=f' Traits need API version 1.{SINCE}.')
        ident = access.node(context, node_ident)
        if trait is None:
            node_traits.remove_all(context, ident)
        else:
            node_traits.remove(context, ident, trait)
        return Response(status=204)


def _add(context, node_ident, trait):
    name = _TRAIT.validate(trait)
    node_traits.add(context, access.node(context, node_ident), [name])
    return Response(status=204, location=f'/v1/nodes/{node_ident}/traits/{name}')
