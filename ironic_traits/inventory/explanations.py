"""Why nodes do not match: the figures, for all nodes at once.

The database says of each node which of the request's traits it has, and which of the other clauses it fails, as bits
of a few numbers, and counts the nodes that are alike; ``matching.explanations`` makes the figures of that.
"""

import functools
from collections import Counter

import sqlalchemy as sa

from ironic_traits.db.models import node_traits, nodes
from ironic_traits.inventory import eligibility, node_filters
from ironic_traits.inventory.matches import among
from ironic_traits.matching.explanations import MOST, Explanation, TraitClauses

#: Bits of a number, which has 64 of them, and a sign.
_BITS = 62


def explain(context, wanted, instance=None, needed=1):
    """Explain which nodes match, and what keeps the others from it.

    :param wanted: ironic_traits.inventory.matches.NodeRequest.
    :param instance: that a node is to be held for: what is allocated to it is no hindrance; None for any.
    :param needed: how many matches there should be.
    :returns: {'considered': n, 'matched': n, 'clauses': [{'clause', 'rejected', 'rejected_only'}, …], 'relaxations':
        [{'drop': [clause, …], 'nodes': n}, …], 'near_misses': [{'node': uuid, 'name': name, 'rejected_by':
        [clause, …]}, …]}.
    """
    facts = _Facts(context, wanted, instance)
    with context.read() as connection:
        found: dict[int, list[tuple]] = {}
        failing: Counter[int] = Counter()
        for *numbers, count in connection.execute(facts.counted()):
            mask = facts.mask(tuple(numbers))
            failing[mask] += count
            found.setdefault(mask, []).append(tuple(numbers))
        explanation = Explanation(facts.clauses, failing)
        nearest = [numbers for mask in explanation.near_misses() for numbers in found[mask]]
        misses = connection.execute(facts.nodes_with(nearest)).all() if nearest else []
    return {
        'considered': explanation.considered,
        'matched': explanation.matched,
        'clauses': explanation.rejected(),
        'relaxations': explanation.relaxations(needed),
        'near_misses': [
            {'node': uuid, 'name': name, 'rejected_by': explanation.names(facts.mask(tuple(numbers)))}
            for uuid, name, *numbers in misses
        ],
    }


def rejections(context, wanted, instance=None):
    """Tell for each node of a list which clauses reject it; as ``explain``.

    :returns: {uuid of a node that the caller may see: [clause, …]}.
    """
    facts = _Facts(context, wanted, instance)
    with context.read() as connection:
        rows = connection.execute(sa.select(facts.inner.c.uuid, *facts.numbers)).all()
    explanation = Explanation(facts.clauses, Counter())
    return {uuid: explanation.names(facts.mask(tuple(numbers))) for uuid, *numbers in rows}


class _Facts:
    """What is to be known of each node: a SELECT of it, and what its numbers mean.

    :ivar clauses: names of the clauses: those about traits, then the others.
    :ivar inner: the SELECT, with the node's ``id``, ``uuid`` and ``name``.
    :ivar numbers: those of its columns that are numbers.
    """

    def __init__(self, context, wanted, instance):
        self._of_traits = TraitClauses(wanted.request)
        names = self._of_traits.traits
        self._words = [names[begin : begin + _BITS] for begin in range(0, len(names), _BITS)]
        flags = wanted.flags() | {
            f'eligible:{reason}': ~condition for reason, condition in eligibility.reasons(instance).items()
        }
        self.clauses = [*self._of_traits.names, *flags]
        columns = [nodes.c.id, nodes.c.uuid, nodes.c.name, _number(flags.values()).label('failed')]
        source: sa.FromClause = nodes
        if names:
            carried = _carried(self._words)
            source = nodes.outerjoin(carried, carried.c.node_id == nodes.c.id)
            columns += [sa.func.coalesce(carried.c[_word(number)], 0).label(_word(number)) for number in self._range]
        statement = sa.select(*columns).select_from(source).where(*node_filters.visible(context))
        if wanted.idents is not None:
            statement = statement.where(among(wanted.idents))
        # The limit, which is none, has the databases make it once: else they put the expressions of its columns in
        # wherever one is named, and evaluate them there.
        self.inner = statement.limit(2**31 - 1).subquery()
        self.numbers = [self.inner.c.failed, *(self.inner.c[_word(number)] for number in self._range)]
        self._failed = functools.cache(self._of_traits.failed)

    @property
    def _range(self):
        return range(len(self._words))

    def counted(self):
        """Give the SELECT of the numbers, and of how many nodes have them."""
        return sa.select(*self.numbers, sa.func.count()).group_by(*self.numbers)

    def nodes_with(self, wanted):
        """Return the SELECT of the uuid, the name and the numbers of MOST nodes.

        :param wanted: [numbers, …]: those whose nodes come first, first.
        """
        alike = [sa.and_(*(c == n for c, n in zip(self.numbers, numbers, strict=True))) for numbers in wanted[:MOST]]
        place = sa.case(*((condition, number) for number, condition in enumerate(alike)))
        statement = sa.select(self.inner.c.uuid, self.inner.c.name, *self.numbers).where(sa.or_(*alike))
        return statement.order_by(place, self.inner.c.id).limit(MOST)

    def mask(self, numbers):
        """Give the mask of the clauses that nodes with these numbers fail."""
        failed, *words = numbers
        carried = sum(word << number * _BITS for number, word in enumerate(words))
        return self._failed(carried) | failed << len(self._of_traits.names)


def _carried(words):
    """Give the SELECT of which traits each node has that has any of these: each list of names as bits of a number."""
    numbers = [
        sa.cast(sa.func.sum(sa.case(_bits(names), value=node_traits.c.trait, else_=0)), sa.BigInteger).label(
            _word(number)
        )
        for number, names in enumerate(words)
    ]
    named = node_traits.c.trait.in_([name for names in words for name in names])
    return sa.select(node_traits.c.node_id, *numbers).where(named).group_by(node_traits.c.node_id).subquery()


def _bits(names):
    return {name: sa.literal(1 << bit, sa.BigInteger) for bit, name in enumerate(names)}


def _number(conditions):
    """Give the number that has a bit for each condition that does not hold."""
    number: sa.ColumnElement = sa.literal(0)
    for bit, condition in enumerate(conditions):
        number += sa.case((condition, 0), else_=1 << bit)
    return number


def _word(number):
    return f'traits_{number}'
