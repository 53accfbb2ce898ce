"""The trait of nodes whose last instance has gone, until they are cleaned: [deploy] reclaim_trait.

It is exclusive, so such a node only matches requests that ask for it. It is written in the transaction in which the
instance goes, so no other request sees the node free without it.
"""

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.inventory.core import history
from ironic_traits.inventory.traits import node_traits, trait_store
from ironic_traits.inventory.traits.node_traits import NodeEdit
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching import sources
from ironic_traits.matching.sources import RECLAIM, Edit


def write(
    context: Context,
    connection: sa.Connection,
    node: sa.Row,
    moment: datetime.datetime,
    author: history.Author,
    is_clean: bool,
) -> None:
    """Remove the trait from a node that was cleaned, or add it to one whose instance goes.

    Do nothing without the option, or for a mirrored node, which is cleaned in its cloud. A veto does not apply to it,
    and it may be one trait more than a node may have: otherwise the node would be given away.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: row with ``id``, ``uuid`` and ``origin``.
    :param moment: time of the write, by the database's clock.
    """
    trait = context.conf.deploy.reclaim_trait
    if not trait or node.origin:
        return
    names.ensure(connection, tables.traits, [trait])
    stored = trait_store.read_many(connection, context.service.writers, [node.id])[node.id]
    hold = Hold(context.service.writers.ids_in(connection, context, [RECLAIM])[RECLAIM], moment)
    if is_clean:
        edit = Edit(stored.traits, stored.traits)
        # Others may hold it, too: a client that writes what it has read holds it as the operator.
        for source in stored.traits.holders.get(trait, ()):
            edit = dataclasses.replace(
                sources.edit(edit.after, hold, remove={trait}, source=source), before=stored.traits
            )
    else:
        edit = sources.edit(stored.traits, hold, add={trait}, source=RECLAIM)
    if edit.changes:
        entry = history.trait_edit(author, node.uuid, moment, RECLAIM, edit.added, edit.removed)
        node_traits.store(connection, [NodeEdit(node, stored, edit)], [entry])
