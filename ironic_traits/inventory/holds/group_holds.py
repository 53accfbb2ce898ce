"""Chooses the nodes of a request with a topology, and locks them.

The nodes are chosen before the transaction begins, because the choice may need the index of nodes. The transaction
checks the choice under the locks: that the nodes are free, and in the same groups, and that the instances that policies
refer to hold the same nodes in the same groups. Nothing else decides whether hard policies are fulfilled. If something
has changed, the nodes are chosen again.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Columns, Condition
from ironic_traits.inventory.core import eligibility, node_selection
from ironic_traits.inventory.holds import promise_claims, taken_nodes
from ironic_traits.inventory.holds.free_nodes import NodeChoice, TooFew
from ironic_traits.inventory.holds.reservations import held_elsewhere
from ironic_traits.inventory.holds.taken_nodes import Lost
from ironic_traits.inventory.search import group_search, node_groups, related_nodes
from ironic_traits.inventory.search.group_search import Free, GroupedNode
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.related_nodes import RelatedNodes
from ironic_traits.matching import topology


class GroupChoice(NodeChoice):
    """An attempt to hold the nodes of a request with a topology."""

    def __init__(self, context: Context, node_request: NodeRequest) -> None:
        super().__init__(context, node_request)
        self._chosen: list[GroupedNode] = []
        self._nodes, self._instances = related_nodes.NONE, list[str]()
        #: Ids of nodes that other transactions had locked. The next attempts leave them out.
        self._busy: set[int] = set()

    def prepare(self, instances: Sequence[str]) -> None:
        """Choose the nodes.

        :raises TooFew: too few nodes match and can be held.
        :raises failures.InstanceReserved: all instances have nodes already, which do not fulfil the topology.
        :raises failures.Failure: as ``related_nodes.read``.
        """
        policies = self.request.topology
        with self.context.read() as connection:
            self._instances = list(instances)
            self._nodes = related_nodes.read(self.context, connection, policies, instances)
            held = {node.instance for node in self._nodes.own}
            rest = [instance for instance in instances if instance not in held]
            promise_claims.look(self.context, connection)
            first, allocated = self.allocated_first(connection, rest), self._own(connection, rest)
        self.related = numbers = self._nodes.numbers(policies)
        if not rest:
            own = topology.count(policies, [node.cell for node in self._nodes.own])
            if not all(policy.allows(*each) for policy, *each in zip(policies, numbers, own, strict=True)):
                raise held_elsewhere(instances[0], self._nodes.own[0].uuid, True, 'does not match')
            return
        busy, promised, named = set(self._busy), set[int](), self.promise_conditions()
        for conditions in ([first] if first else []) + [[]]:
            while True:
                free = Free(eligibility.only(rest), [*conditions, *named], frozenset(busy | promised))
                with group_search.search(self.context, self.request, numbers, len(rest), free) as found:
                    self._chosen = found.choose(len(rest))
                claim = self.claim()
                if (
                    not self._chosen
                    or not claim
                    or len(claim.choose(self._chosen, self._project, allocated)) == len(rest)
                ):
                    break
                refusal = claim.refusal(self.context, len(rest), len(self._chosen))
                if promised.issuperset(claim.refused):
                    raise TooFew(rest, refusal)
                promised.update(claim.refused)
            if self._chosen:
                return
        if promised:
            raise TooFew(rest, refusal)
        if not busy:
            raise TooFew(rest)
        # There may be enough with the locked nodes.
        self._busy, self.waits = set(), True
        self.prepare(instances)

    def change(self) -> None:
        """Skip the nodes that other transactions have locked, or do not wait any more."""
        self.waits = self.request.idents is not None

    def take(
        self,
        connection: sa.Connection,
        instances: Sequence[str],
        first: Sequence[Condition] = (),
        columns: Columns = (),
    ) -> list[sa.Row]:
        """Lock the chosen nodes, and check the choice. See ``NodeChoice.take``."""
        if len(instances) != len(self._chosen):
            raise Lost
        self._lock(connection)
        policies = self.request.topology
        free = eligibility.eligible_for(eligibility.only(instances))
        conditions = [*self.request.conditions(self.context), free, *self.promise_conditions()]
        columns = (*columns, *node_groups.columns(policies))
        rows = taken_nodes.read_taken(connection, self._chosen, conditions, columns)
        rows = self.confirmed(connection, rows, self._own(connection, instances))
        is_same = [node_groups.cell(policies, row) for row in rows] == [node.cell for node in self._chosen]
        if not is_same or (any(self._nodes) and self._read_related(connection) != self._nodes):
            raise Lost
        return rows

    def _read_related(self, connection: sa.Connection) -> RelatedNodes:
        return related_nodes.find(self.context, connection, self.request.topology, self._instances)

    def _lock(self, connection: sa.Connection) -> None:
        """Lock the chosen nodes, and the nodes that policies refer to.

        :raises Lost: another transaction has locked a chosen node.
        """
        related = {node.id for node in (*self._nodes.own, *self._nodes.others)}
        if self.waits:
            node_selection.lock(connection, sorted(related | {node.id for node in self._chosen}))
            return
        # First those that are waited for: who holds no lock yet can take part in no deadlock.
        node_selection.lock(connection, sorted(related))
        taken = {node.id for node in taken_nodes.take_some(connection, self._chosen, len(self._chosen))}
        if len(taken) < len(self._chosen):
            self._busy |= {node.id for node in self._chosen if node.id not in taken}
            raise Lost
