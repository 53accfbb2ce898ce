"""The search for the providers that could fulfil the groups of a request."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Sequence

import sqlalchemy as sa
from oslo_config import cfg

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.matching.combinations import Tries
from ironic_traits.placement import inventory_usage, trait_conditions
from ironic_traits.placement.candidates import candidate_facts, sharing
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup, CandidateRequest


def without_exclusive(context: Context, request: CandidateRequest) -> CandidateRequest:
    """Return a request, such that trees with an exclusive trait are left out unless it asks for the trait.

    Call this before a transaction begins.
    """
    if not context.conf.placement.exclusive_traits:
        return request
    return request.without_exclusive(context.service.noted_traits.exclusive(context.service))


class Search:
    """What was read for a request: facts about all providers, and the providers that could fulfil its groups.

    :param connection: for reading.
    :param conf: the options of [placement].
    :param request: the request.
    :raises failures.TraitNotFound: traits do not exist.
    """

    def __init__(self, connection: sa.Connection, conf: cfg.ConfigOpts.GroupAttr, request: CandidateRequest) -> None:
        self.connection = connection
        groups = request.groups
        required, forbidden = request.root_required or ((), frozenset())
        trait_names = set().union(*required, forbidden)
        for group in groups:
            trait_names = trait_names.union(*group.required, group.forbidden)
        class_names = {name for group in groups for name in group.resources}
        self.facts = candidate_facts.read(connection, class_names, trait_names, request.exclusive)
        self.class_ids, self.holders = self.facts.class_ids, self.facts.holders
        #: The request, with those of its exclusive traits that still exist.
        self.request = dataclasses.replace(request, exclusive=request.exclusive.intersection(self.holders))
        self.sharing = sharing.roots_of_sharing(connection) if self.facts.aggregated else {}
        #: Whether any provider has a parent.
        self.nested = self.facts.nested
        self.tries = Tries(conf.max_candidate_combinations)
        #: {resource class: what all groups request of it together}.
        self.amounts: Counter[str] = Counter()
        for group in groups:
            self.amounts.update(group.resources)
        #: {provider id: row with ``id``, ``uuid`` and ``root_provider_uuid``}.
        self.providers: dict[int, sa.Row] = {}
        #: Whether a candidate is one provider. Then each row of a query is a candidate, and the query can have a limit.
        self.is_plain = len(groups) == 1 and not (self.nested or self.sharing)
        #: Whether the free nodes that fulfil the request are candidates by themselves, whatever else there is.
        self.nodes_suffice = len(groups) == 1 and list(self.amounts.values()) == [1] and not self.sharing

    def trees_of(self, row: sa.Row) -> Collection[str]:
        """Return the roots of the trees that can use a provider: its own, and those that it shares with."""
        return {row.root_provider_uuid, *self.sharing[row.id]} if row.id in self.sharing else (row.root_provider_uuid,)

    def amounts_of(self, group: CandidateGroup) -> dict[int, int]:
        """Return {class id: amount} for which a provider must have room to fulfil a group.

        Without nested or sharing providers, one provider has to fulfil all groups. So it must have room for the
        requests of all groups together. Otherwise, thousands of providers would be tried one by one.
        """
        together = not (self.nested or self.sharing)
        return {
            self.class_ids[name]: self.amounts[name] if together else amount for name, amount in group.resources.items()
        }

    def rows(self, amounts: dict[int, int], conditions: Collection[Condition]) -> Sequence[sa.Row]:
        """Return the providers that have room and fulfil conditions, and keep them in ``providers``.

        Without the nodes, if they are candidates by themselves.

        :param amounts: {class id: amount}; empty for any providers.
        :param conditions: on resource_providers.
        :returns: [row with ``id``, ``uuid`` and ``root_provider_uuid``, …], sorted by id.
        """
        statements = inventory_usage.with_room(amounts, nodes=not self.nodes_suffice)
        both = sa.union_all(*(statement.where(*conditions) for statement in statements))
        return self.read(both.order_by('id'))

    def read(self, statement: sa.Select | sa.CompoundSelect) -> Sequence[sa.Row]:
        rows = self.connection.execute(statement).all()
        self.providers.update({row.id: row for row in rows})
        return rows

    def with_one_of(self, trait_names: Collection[str]) -> set[int]:
        """Return the ids of the providers that have one of these traits."""
        has_one = trait_conditions.conditions(self.holders, [trait_names])
        return set(self.connection.scalars(sa.select(tables.resource_providers.c.id).where(*has_one)))

    def uuids(self, *conditions: Condition) -> set[str]:
        return set(self.connection.scalars(sa.select(tables.resource_providers.c.uuid).where(*conditions)))
