"""Policy checks against one node, or against a record that belongs to a node.

Each route begins with ``context.can`` or ``context.limit_to``. They may leave rules in ``context.limited_to`` that
depend on the owner and the lessee of the node. This module checks those rules. A node that the caller may not see is a
404. A node that the caller may see, but not use in this way, is a 403.
"""

from ironic_traits import failures
from ironic_traits.api.v1 import node_ident
from ironic_traits.context import target_of
from ironic_traits.inventory import nodes, records


def node(context, text):
    """Return the uuid or the name of a node, if policy allows the request for it.

    :param text: the uuid or the name in the request.
    :raises failures.InvalidIdent: the text can be neither.
    :raises failures.NodeNotFound: there is no such node that the caller may see.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
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


def check_all(context, ident, rules):
    """Raise unless all of the rules allow the request for a node. Raises like ``node``.

    :param ident: uuid or name of the node.
    :param rules: names of policy rules.
    """
    if not all(context.may(rule) for rule in rules):
        target = target_of(nodes.get(context, ident, ('owner', 'lessee')))
        if not context.may('baremetal:node:get', target):
            raise failures.NodeNotFound(node=ident)
        for rule in sorted(rules):
            context.can(rule, target=target)


def record(context, kind, ident):
    """Raise unless policy allows the request for a record that belongs to a node.

    :param kind: ironic_traits.inventory.records.Kind.
    :raises failures.RecordNotFound: there is no such record that the caller may see.
    :raises failures.Forbidden: the caller may see the record, but policy does not allow the request.
    """
    if context.limited_to:
        owner = records.owner(context, kind, ident)
        check(context, owner, failures.RecordNotFound(what=kind.what.capitalize(), ident=ident))


def new_record(context, node_uuid):
    """Raise unless policy allows the caller to create a record of a node.

    :raises failures.InvalidInput: there is no such node that the caller may see.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    if context.limited_to:
        missing = records.no_node(node_uuid)
        try:
            owner = nodes.get(context, node_uuid, ('owner', 'lessee'))
        except failures.NodeNotFound:
            raise missing from None
        check(context, owner, missing)


def check(context, owner, missing):
    """Raise unless one of the rules in ``context.limited_to`` allows the request for a node.

    :param owner: row with ``owner`` and ``lessee`` of the node.
    :param missing: the failure to raise if the caller may not see the node.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    target = target_of(owner)
    if not any(context.may(rule, target) for rule in context.limited_to):
        if context.may('baremetal:node:get', target):
            raise failures.Forbidden(rule=context.limited_to[0])
        raise missing
