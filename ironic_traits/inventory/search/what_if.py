"""What-if changes of nodes and traits, and the checks that real edits would make."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.inventory.core.node_selection import Selection
from ironic_traits.inventory.search.node_index import View
from ironic_traits.inventory.traits import trait_edits
from ironic_traits.matching import bitsets
from ironic_traits.matching.trait_edits import BulkEdit


class TraitChange(NamedTuple):
    """A what-if change of the traits of nodes. It stands for a plain edit, which has no source.

    :ivar add: names of the traits to add.
    :ivar remove: names of the traits to remove.
    """

    selection: Selection
    add: frozenset[str]
    remove: frozenset[str]


class WhatIf(NamedTuple):
    """The changes that a request assumes.

    :ivar without: uuids and names of nodes to leave out.
    :ivar changes: [TraitChange, …], made one after another. Each selects nodes by their current data.
    """

    without: tuple[str, ...] = ()
    changes: Sequence[TraitChange] = ()


#: No changes.
NOTHING = WhatIf()


def check_names(connection: sa.Connection, names: Collection[str]) -> None:
    """Raise InvalidTrait unless all names can be removed from nodes."""
    trait_edits.check_names(connection, BulkEdit(remove=frozenset(names)))


def check_limit(context: Context, view: View, traits: Iterable[int], gaining: int) -> None:
    """Raise EditExceedsLimit if nodes would have more traits than a node may have.

    :param traits: for each trait, the set of the nodes that would have it.
    :param gaining: set of the nodes that get a trait. Other nodes may exceed the limit already.
    """
    if not gaining:
        return
    limit = context.conf.inventory.max_traits_per_node
    numbers = bitsets.Sums(members & gaining for members in traits)
    if not (exceeding := numbers.above(limit)):
        return
    ids = view.ids(exceeding, context.conf.api.max_limit)
    columns = tables.nodes.c
    statement = sa.select(columns.id, columns.uuid, columns.name).where(columns.id.in_(ids)).order_by(columns.id)
    raise trait_edits.exceeding(
        context,
        [
            {'uuid': row.uuid, 'name': row.name, 'traits': numbers.at(view.of_ids([row.id]).bit_length() - 1)}
            for row in view.connection.execute(statement)
        ],
        exceeding.bit_count(),
    )


def vetoed(view: View, names: Collection[str], nodes: int) -> dict[str, int]:
    """Return the numbers of nodes on which traits are vetoed: {name: number of nodes}, without zeros, sorted."""
    columns = tables.node_trait_vetoes.c
    rows = view.connection.execute(sa.select(columns.trait, columns.node_id).where(columns.trait.in_(names))).all()
    numbers = {name: view.of_ids(row.node_id for row in rows if row.trait == name) & nodes for name in sorted(names)}
    return {name: vetoing.bit_count() for name, vetoing in numbers.items() if vetoing}
