"""Policy checks against one node, or against a record that belongs to a node.

The decorator of a route asks policy first. The grant that it gets may have rules that depend on the owner and the
lessee of the node. This module checks those rules. If the caller may not see the node, the response is 404. If the
caller may see it, but not use it in this way, the response is 403.
"""

from collections.abc import Collection

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.api.v1 import node_ident
from ironic_traits.context import Context, Grant, Target, target_of
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.records import records
from ironic_traits.inventory.records.record_kinds import Kind


def node(context: Context, grant: Grant, text: str) -> Grant:
    """Return the grant for one node, if policy allows the request for it: ``of`` of ``expose``.

    :param text: the uuid or the name in the request.
    :raises failures.InvalidIdent: the text can be neither.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    ident = node_ident.ident(context, text)
    if grant.rules:
        check(context, grant, nodes.owner(context, ident), failures.NodeNotFound(node=ident))
    return grant.of(ident)


def visible_node(context: Context, text: str) -> None:
    """Raise NodeNotFound unless the caller may see a node: ``within`` of ``expose``.

    :param text: the uuid or the name in the request.
    :raises failures.InvalidIdent: the text can be neither.
    """
    grant = context.limit_to('baremetal:node:get')
    if grant.rules:
        node(context, grant, text)


def check_all(context: Context, grant: Grant, rules: Collection[str]) -> None:
    """Raise unless all of the rules allow the request for a node.

    :param grant: ironic_traits.context.Grant of the node.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    if not all(context.may(rule) for rule in rules):
        target = target_of(nodes.owner(context, grant.ident))
        if not context.may('baremetal:node:get', target):
            raise failures.NodeNotFound(node=grant.ident)
        for rule in sorted(rules):
            context.can(rule, target=target)


def record(context: Context, grant: Grant, kind: Kind, ident: str) -> Grant:
    """Return the grant for a record that belongs to a node, if policy allows the request for it.

    :raises failures.Forbidden: the caller may see the record, but policy does not allow the request.
    """
    if grant.rules:
        owner = records.owner(context, kind, ident)
        check(context, grant, owner, failures.RecordNotFound(what=kind.what.capitalize(), ident=ident))
    return grant.of(ident)


def new_record(context: Context, grant: Grant, node_uuid: str) -> None:
    """Raise unless policy allows the caller to create a record of a node.

    :raises failures.InvalidInput: there is no such node that the caller may see.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    if grant.rules:
        missing = records.no_node(node_uuid)
        try:
            owner = nodes.owner(context, node_uuid)
        except failures.NodeNotFound:
            raise missing from None
        check(context, grant, owner, missing)


def check(context: Context, grant: Grant, owner: sa.Row, missing: failures.Failure) -> None:
    """Raise unless one of the rules of a grant allows the request for a node.

    :param owner: row with ``owner`` and ``lessee`` of the node.
    :param missing: the failure to raise if the caller may not see the node.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    check_target(context, grant, target_of(owner), 'baremetal:node:get', missing)


def check_target(context: Context, grant: Grant, target: Target, visible: str, missing: failures.Failure) -> None:
    """Raise unless one of the rules of a grant allows the request for a target.

    :param visible: name of the rule of who may see the target.
    :param missing: the failure to raise if the caller may not see it.
    :raises failures.Forbidden: the caller may see the target, but policy does not allow the request.
    """
    if not any(context.may(rule, target) for rule in grant.rules):
        if context.may(visible, target):
            raise context.forbidden(grant.rules[0])
        raise missing


def listed_project(context: Context, list_all: str) -> str | None:
    """Return the project whose objects the caller may list; None for all.

    :param list_all: name of the rule that allows all.
    :raises failures.Forbidden: the caller has no project, and may not list all.
    """
    if context.may(list_all):
        return None
    if not context.project_id:
        raise context.forbidden(list_all)
    return context.project_id
