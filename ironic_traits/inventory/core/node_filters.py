"""Conditions on nodes for the query filters, and for the nodes that the caller may see."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import no_row
from ironic_traits.inventory.core import eligibility, origins, trait_filters


def conditions(filters: Mapping[str, Any]) -> dict[str, Condition]:
    """Return the conditions that implement filters.

    :param filters: {column of nodes: value that it must equal}, or {key of ``CONDITIONS``: value}.
    :returns: {filter: condition on nodes}.
    """
    return {name: _condition(name, value) for name, value in filters.items()}


def hides_children(filters: Mapping[str, Any]) -> bool:
    """Whether a list with these filters has no children of nodes."""
    return not ('parent_node' in filters or filters.get('include_children'))


def without_children(filters: Mapping[str, Any], by_set: bool = False) -> list[Condition]:
    """Return the condition that hides the children of nodes, unless a filter asks for them.

    :param filters: as for ``conditions``.
    :param by_set: whether to read the few children first. This is for statements that read all nodes on MariaDB, which
        has no partial index, and would look up each node.
    :returns: [condition on nodes]; [] when ``parent_node`` or ``include_children`` selects children.
    """
    if not hides_children(filters):
        return []
    return [tables.nodes.c.id.not_in(_CHILDREN) if by_set else tables.nodes.c.parent_node.is_(None)]


def among(idents: Collection[str]) -> Condition:
    """Return the condition on nodes that a node is one of these.

    :param idents: uuids and names.
    """
    uuids = [ident for ident in idents if uuidutils.is_uuid_like(ident)]
    names = [ident for ident in idents if not uuidutils.is_uuid_like(ident)]
    return (
        sa.or_(tables.nodes.c.uuid.in_(uuids), tables.nodes.c.name.in_(names))
        if names
        else tables.nodes.c.uuid.in_(uuids)
    )


def visible(context: Context, grant: Grant, list_all: str = 'baremetal:node:list_all') -> list[Condition]:
    """Return the conditions on the nodes that a request may show to the caller.

    These are all nodes, or the ones that the caller's project owns or leases.

    :param list_all: the policy rule that allows the caller to see all nodes, or the records of all nodes.
    :returns: [condition on nodes]; [] when the request may show all of them.
    :raises failures.Forbidden: as ``visible_project``.
    """
    project = visible_project(context, grant, list_all)
    return [] if project is None else [_is_of(project)]


def visible_project(context: Context, grant: Grant, list_all: str = 'baremetal:node:list_all') -> str | None:
    """Return the project whose nodes (owned or leased) a request may show; None if it may show all nodes.

    :param list_all: as for ``visible``.
    :raises failures.Forbidden: policy does not allow the caller to see all nodes, and the caller has no project (the
        token is for a domain, for example).
    """
    if not grant.rules and context.may(list_all):
        return None
    if not context.project_id:
        raise context.forbidden(list_all)
    return context.project_id


def seen(context: Context) -> sa.Label[bool]:
    """Return a column ``seen`` for a SELECT from nodes: whether the caller may see the node."""
    return sa.and_(sa.true(), *visible(context, Grant(()))).label('seen')


def _condition(name: str, value: Any) -> Condition:
    condition = CONDITIONS.get(name)
    return condition(value) if condition else tables.nodes.c[name] == value


def _is_set(column: sa.Column[Any]) -> Callable[[bool], Condition]:
    return lambda value: column.is_not(None) if value else column.is_(None)


def _has_none(names: Collection[str]) -> Condition:
    return sa.and_(*(tables.nodes.c[name].is_(None) for name in names))


def _is_of(project: str) -> Condition:
    return sa.or_(tables.nodes.c.owner == project, tables.nodes.c.lessee == project)


def _has_text(text: str) -> Condition:
    """Return the condition on nodes that a name or the description contains a text, or that a uuid begins with it."""
    names = tables.nodes.c.name, tables.nodes.c.instance_name, tables.nodes.c.description
    uuids = tables.nodes.c.uuid, tables.nodes.c.instance_uuid
    return sa.or_(
        *(column.icontains(text, autoescape=True) for column in names),
        *(column.istartswith(text, autoescape=True) for column in uuids),
    )


_child = tables.nodes.alias('child')
_CHILDREN = sa.select(_child.c.id).where(_child.c.parent_node.is_not(None))
_RESERVED = sa.select(tables.reservations.c.node_uuid).where(eligibility.LIVE)
#: {filter that is not a column compared with a value: function from its value to the condition}.
CONDITIONS: dict[str, Callable[[Any], Condition]] = {
    'associated': _is_set(tables.nodes.c.instance_uuid),
    'sharded': _is_set(tables.nodes.c.shard),
    # See ``without_children``.
    'include_children': lambda value: sa.true(),
    'eligible': lambda value: eligibility.ELIGIBLE if value else ~eligibility.ELIGIBLE,
    # Few nodes are reserved. To find these, all reservations are read once. To find others, one is read for each node.
    'reserved': lambda value: tables.nodes.c.uuid.in_(_RESERVED) if value else no_row(eligibility.RESERVED),
    'held': lambda value: eligibility.HELD if value else eligibility.NOT_HELD,
    # '' for the nodes that are not mirrored.
    'origin': lambda cloud: tables.nodes.c.origin == cloud if cloud else origins.OWN,
    'shard': tables.nodes.c.shard.in_,
    'without': _has_none,
    'project': _is_of,
    'trait_source': trait_filters.held_by,
    'description_contains': lambda text: tables.nodes.c.description.icontains(text, autoescape=True),
    'search': _has_text,
    'conductor': lambda host: host.nodes,
}
