"""Mirrored nodes that cannot be claimed in their cloud now, and are therefore not offered (``[mirror] claims``)."""

import dataclasses
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from ironic_traits.conf.mirror import claims_any_nodes, claims_nodes
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import clock
from ironic_traits.inventory.core.mirror_claim_states import OPEN

_CLAIMS, _NODES = tables.mirror_claims, tables.nodes
#: Condition on nodes: no claim of the node is open.
_UNCLAIMED = ~sa.exists().where(_CLAIMS.c.node_uuid == _NODES.c.uuid, OPEN).correlate(_NODES)


@dataclasses.dataclass(frozen=True)
class Exclusions:
    """The mirrored nodes that cannot be claimed now: single ones, all of some clouds, and those with an open claim.

    :ivar nodes: {uuid: why, as a sentence}.
    :ivar clouds: {name of the cloud: why}.
    """

    nodes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    clouds: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether only nodes with an open claim are excluded."""
        return not self.nodes and not self.clouds

    def plus(self, other: 'Exclusions') -> 'Exclusions':
        """Return the union of both exclusions."""
        return Exclusions({**self.nodes, **other.nodes}, {**self.clouds, **other.clouds})

    def condition(self) -> Condition:
        """Return the condition on nodes that a node is not excluded."""
        # A node with an instance is not eligible anyway. Thus explanations name one reason less.
        unclaimed = sa.or_(_NODES.c.instance_uuid.is_not(None), _UNCLAIMED)
        usable = _NODES.c.origin.not_in(list(self.clouds)), _NODES.c.uuid.not_in(list(self.nodes)), unclaimed
        return sa.or_(_NODES.c.origin.is_(None), sa.and_(*usable))

    def reason(self, node: sa.Row) -> str | None:
        """Return why a node is excluded, as a sentence; None if it is not, or has an open claim.

        :param node: row with ``uuid`` and ``origin``.
        """
        return self.nodes.get(node.uuid) or self.clouds.get(node.origin or '')


def condition(context: Context) -> Condition | None:
    """Return the condition on nodes that a node can be claimed in its cloud now; None if no cloud needs claims.

    :param context: a Context or a Service.
    """
    return current(context).condition() if claims_any_nodes(context.conf) else None


def current(context: Context, is_claim_needed: bool = False) -> Exclusions:
    """Return the clouds in which no nodes can be claimed now.

    Without a working mirror, nothing would settle claims, and the data of the nodes may be outdated.

    :param is_claim_needed: whether nodes can be held only with a claim. Then the clouds for which [mirror] claims is
        not set are excluded, too.
    """
    rows = _clouds(context)
    asked = {row.name: claims_nodes(context.conf, row.name) for row in rows}
    clouds = {row.name: _why(row) for row in rows if asked[row.name] and (row.is_stopped or row.failing_since)}
    if is_claim_needed:
        clouds |= {
            name: f'[mirror] claims is not set for its cloud {name}.'
            for name, is_asked in asked.items()
            if not is_asked
        }
    return Exclusions(clouds=clouds)


def unreadable(context: Reader) -> set[str]:
    """Return the names of the clouds that their mirror, which runs, cannot read at present."""
    return {row.name for row in _clouds(context) if row.failing_since and not row.is_stopped}


def _clouds(context: Reader) -> Sequence[sa.Row]:
    columns = tables.mirror_clouds.c
    is_stopped = sa.or_(columns.leased_until.is_(None), columns.leased_until <= clock()).label('is_stopped')
    with context.read() as connection:
        statement = sa.select(columns.name, columns.failing_since, columns.last_error, is_stopped)
        return connection.execute(statement).all()


def _why(row: sa.Row) -> str:
    if row.is_stopped:
        return f'No mirror of its cloud {row.name} runs.'
    return f'Its cloud {row.name} cannot be reached since {row.failing_since:%Y-%m-%d %H:%M:%S} UTC: {row.last_error}'
