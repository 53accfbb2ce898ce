"""Matches: the nodes that fulfil a request."""

import dataclasses
import functools
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.db.models import node_traits as table
from ironic_traits.db.models import nodes, resource_classes, resource_providers, traits
from ironic_traits.inventory import node_filters, node_traits
from ironic_traits.inventory.eligibility import ELIGIBLE
from ironic_traits.matching.requests import Request

#: How many nodes of a list are looked at first, when one of them is wanted; each time that none will do, more are.
_FIRST, _GROWTH = 16, 4
#: Most characters of a value in the name of a clause.
_LONGEST = 80
_COLUMNS = (nodes.c.id, nodes.c.uuid)


@dataclasses.dataclass(frozen=True)
class NodeRequest:
    """Which nodes a client wants.

    :ivar request: ironic_traits.matching.requests.Request.
    :ivar filters: as ``node_filters.conditions`` takes them.
    :ivar idents: uuids and names of the nodes that it may be, the best first, a tuple; None for all nodes.
    """

    request: Request = dataclasses.field(default_factory=Request)
    filters: dict[str, Any] = dataclasses.field(default_factory=dict)
    idents: tuple[str, ...] | None = None

    @property
    def is_a_list(self):
        """Whether a list says it all."""
        return self.idents is not None and not self.filters and self.request.is_empty

    def flags(self):
        """Give the conditions on nodes that are not about traits, each with the name of its clause."""
        found = {}
        if self.request.resource_class:
            found[f'resource_class:{self.request.resource_class}'] = _is_of_class(self.request.resource_class)
        named = ((f'{name}:{_text(value)}', name) for name, value in self.filters.items())
        conditions = node_filters.conditions(self.filters)
        return found | {clause: conditions[name] for clause, name in named}

    def conditions(self, context):
        """Give the conditions on nodes that they match, whether or not they could be held, or are in the list."""
        return [*node_filters.visible(context), *self.flags().values(), *node_traits.where(self.request.filter)]


def find(context, wanted, limit):
    """Find the nodes that match, and could be held.

    :param wanted: NodeRequest.
    :param limit: most nodes.
    :returns: rows with ``uuid``, ``name``, ``resource_class`` and ``traits`` joined by commas, None for none: the
        preferred ones first, then in the order in which they were made.
    """
    columns = (nodes.c.uuid, nodes.c.name, nodes.c.resource_class, node_traits.JOINED)
    statement = sa.select(*columns).where(*wanted.conditions(context), ELIGIBLE)
    with context.read() as connection:
        return connection.execute(statement.order_by(*_order(wanted.request)).limit(limit)).all()


def absent_traits(context, request):
    """Return which required traits no node has, a list: [one name], or [several, any of which will do].

    :param request: ironic_traits.matching.requests.Request.
    """
    groups = [sorted(names) for names in (*([name] for name in request.required), *request.required_any)]
    names = sorted({name for group in groups for name in group})
    if not names:
        return []
    visible = node_filters.visible(context)
    has = sa.exists().where(table.c.trait == traits.c.name)
    if visible:
        has = has.where(table.c.node_id == nodes.c.id, *visible)
    with context.read() as connection:
        present = set(connection.scalars(sa.select(traits.c.name).where(traits.c.name.in_(names), has)))
    return sorted(group for group in groups if present.isdisjoint(group))


def candidates(context, connection, wanted, free, count):
    """Give the first nodes that match, and could be held.

    :param wanted: NodeRequest.
    :param free: the condition on nodes that one could be held.
    :param count: how many.
    :returns: [row with ``id`` and ``uuid``, …], the best first: the preferred ones, then in the order of the list, or
        in that in which they were made.
    """
    statement = sa.select(*_COLUMNS).where(*wanted.conditions(context), free)
    if wanted.idents is None:
        return connection.execute(statement.order_by(*_order(wanted.request)).limit(count)).all()
    if wanted.request.preferred:
        # The last of the list may be the best.
        return _of_list(connection, statement, wanted.idents, wanted.request.preferred)[:count]
    # A node may be in the list by its name, and once more by its uuid.
    found: dict[int, sa.Row] = {}
    begin, size = 0, max(_FIRST, count)
    while begin < len(wanted.idents) and len(found) < count:
        for row in _of_list(connection, statement, wanted.idents[begin : begin + size]):
            found.setdefault(row.id, row)
        begin, size = begin + size, size * _GROWTH
    return list(found.values())[:count]


def matching(context, connection, wanted, uuids):
    """Tell which of some nodes match, whether or not they could be held.

    :param wanted: NodeRequest.
    :returns: a set of uuids.
    """
    statement = sa.select(nodes.c.uuid).where(nodes.c.uuid.in_(uuids), *wanted.conditions(context))
    if wanted.idents is not None:
        statement = statement.where(among(wanted.idents))
    return set(connection.scalars(statement))


def among(idents):
    """Give the condition that a node is one of these, by uuid or by name."""
    uuids = [ident for ident in idents if uuidutils.is_uuid_like(ident)]
    names = [ident for ident in idents if not uuidutils.is_uuid_like(ident)]
    return sa.or_(nodes.c.uuid.in_(uuids), nodes.c.name.in_(names)) if names else nodes.c.uuid.in_(uuids)


def _of_list(connection, statement, idents, preferred=None):
    """Give the rows of a statement that are in a list: the preferred ones first, then in its order."""
    score = _score(preferred) if preferred else sa.literal(0)
    rows = connection.execute(statement.add_columns(nodes.c.name, score.label('score')).where(among(idents))).all()
    position = {ident: number for number, ident in reversed(list(enumerate(idents)))}

    def place(row):
        return -row.score, min(position[ident] for ident in (row.uuid, row.name) if ident in position)

    return sorted(rows, key=place)


def _order(request):
    return (_score(request.preferred).desc(), nodes.c.id) if request.preferred else (nodes.c.id,)


def _score(preferred):
    """Give the sum of the weights of the preferred traits that a node has."""
    weight = sa.case(preferred, value=table.c.trait, else_=0)
    score = sa.select(sa.func.sum(weight)).where(table.c.node_id == nodes.c.id, table.c.trait.in_(sorted(preferred)))
    return sa.func.coalesce(score.correlate(nodes).scalar_subquery(), 0)


@functools.lru_cache(maxsize=256)
def _is_of_class(name):
    """Give the condition that a node is of a class, by Placement's name of it."""
    same = sa.select(resource_classes.c.id).where(resource_classes.c.name == name).scalar_subquery()
    return nodes.c.id.in_(
        sa.select(resource_providers.c.node_id).where(
            resource_providers.c.resource_class_id == same, resource_providers.c.node_id.is_not(None)
        )
    )


def _text(value):
    """Give the value of a filter as the name of its clause has it: an explanation may say it many times."""
    if isinstance(value, bool):
        return str(value).lower()
    text = ','.join(value) if isinstance(value, list) else value
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'
