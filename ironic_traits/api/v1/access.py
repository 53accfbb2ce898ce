"""Whether somebody may do to a certain node what policy allows for some nodes only.

``context.can``, with which each route begins, has said that there may be such nodes; which are none stands here.  A
node that somebody may not see is not there; one that is seen, and not to be touched, is a 403.
"""

from ironic_traits import failures
from ironic_traits.api.v1 import node_ident
from ironic_traits.context import target_of
from ironic_traits.inventory import nodes, records


def node(context, text):
    """Give the uuid or the name of a node that the caller may do it to.

    :param text: what stands for the node in the request.
    :raises failures.InvalidIdent: it can be no uuid and no name.
    :raises failures.NodeNotFound: there is no such node, for this caller.
    :raises failures.Forbidden: the caller sees it, and may not do this.
    """
    ident = node_ident.ident(context, text)
    if context.limited_to:
        check(context, nodes.get(context, ident, ('owner', 'lessee')), failures.NodeNotFound(node=ident))
    return ident


def visible_node(context, text):
    """Raise NodeNotFound unless the caller may see a node.

    :param text: the uuid or the name in the request.
    :raises failures.InvalidIdent: the text can be neither.
    """
    context.limit_to('baremetal:node:get')
    if context.limited_to:
        node(context, text)


def node_by_all(context, text, rules):
    """Give the uuid or the name of a node that the caller may do all of it to; as ``node``.

    :param rules: names of policy rules.
    """
    ident = node_ident.ident(context, text)
    if not all(context.may(rule) for rule in rules):
        target = target_of(nodes.get(context, ident, ('owner', 'lessee')))
        if not context.may('baremetal:node:get', target):
            raise failures.NodeNotFound(node=ident)
        for rule in sorted(rules):
            context.can(rule, target=target)
    return ident


def record(context, kind, ident):
    """Do nothing when the caller may do it to what belongs to a node; as ``node``.

    :param kind: ironic_traits.inventory.records.Kind.
    :raises failures.RecordNotFound: there is no such record, for this caller.
    """
    if context.limited_to:
        owner = records.owner(context, kind, ident)
        check(context, owner, failures.RecordNotFound(what=kind.what.capitalize(), ident=ident))


def new_record(context, node_uuid):
    """Do nothing when the caller may put something into a node; as ``node``.

    :raises failures.InvalidInput: there is no such node, for this caller.
    """
    if context.limited_to:
        missing = records.no_node(node_uuid)
        try:
            owner = nodes.get(context, node_uuid, ('owner', 'lessee'))
        except failures.NodeNotFound:
            raise missing from None
        check(context, owner, missing)


def check(context, owner, missing):
    """Do nothing when the caller may do it to a node of these.

    :param owner: row with ``owner`` and ``lessee``.
    :param missing: the failure that says that there is no such thing.
    :raises failures.Forbidden: the caller sees it, and may not do this.
    """
    target = target_of(owner)
    if not any(context.may(rule, target) for rule in context.limited_to):
        if context.may('baremetal:node:get', target):
            raise failures.Forbidden(rule=context.limited_to[0])
        raise missing
