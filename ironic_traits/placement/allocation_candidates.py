"""Candidates: what could be allocated to fulfil a request.

The database finds, set-wise, the providers that each group could have; ``matching.combinations`` puts them together, no
further than the limit; only what is given is then read in full.
"""

import dataclasses
import functools
import random
from collections import Counter, defaultdict

import sqlalchemy as sa

from ironic_traits.db.models import (
    node_traits,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from ironic_traits.db.names import PREFIX
from ironic_traits.matching.combinations import Collective, Option, Rules, Tries, combine
from ironic_traits.placement import capacity
from ironic_traits.placement import resource_classes as classes
from ironic_traits.placement import traits as known_traits
from ironic_traits.placement.resource_providers import in_tree, is_in

#: The trait of providers whose inventories are for all in their aggregates.
SHARES = 'MISC_SHARES_VIA_AGGREGATE'
#: Most values in one list of a statement.
_CHUNK = 1000


@dataclasses.dataclass(frozen=True)
class Group:
    """One group of a request.

    :ivar suffix: '' for the one that may be fulfilled by several providers of a tree.
    :ivar resources: {resource class: amount}.
    :ivar required: [{trait, …}, …] of each of which one is wanted.
    :ivar forbidden: {trait, …} of which none is.
    :ivar member_of: [{uuid, …}, …] of aggregates, of each of which one is wanted.
    :ivar not_member_of: {uuid, …} of which none is.
    :ivar in_tree: uuid of a provider in whose tree it must be; None for any.
    """

    suffix: str
    resources: dict
    required: list
    forbidden: frozenset
    member_of: list
    not_member_of: frozenset
    in_tree: str | None


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked for.

    :ivar groups: [Group, …].
    :ivar limit: most candidates that are wanted; None for all.
    :ivar isolate: whether each group with a suffix takes a provider of its own.
    :ivar root_required: ([{trait, …}, …], {trait, …}) of the root of a tree, as of a group; None when not asked for.
    :ivar subtrees: sets of suffixes whose providers are below one of them.
    :ivar flat: whether no candidate may have two providers of one tree, for clients that know of no trees.
    """

    groups: list
    limit: int | None
    isolate: bool
    root_required: tuple | None
    subtrees: list
    flat: bool


def find(context, request):
    """Find candidates.

    :returns: (candidates, summaries): candidates as [({provider uuid: {resource class: amount}}, {suffix: [provider
        uuid, …]}), …], summaries as {provider uuid: Summary}.
    :raises failures.ResourceClassNotFound: a resource class is not there.
    :raises failures.TraitNotFound: traits are not there.
    """
    with context.read() as connection:
        search = _Search(connection, context.conf.placement, request)
        found = search.candidates()
        return search.shown(found)


@dataclasses.dataclass(frozen=True)
class Summary:
    """A provider of a tree that a candidate takes from.

    :ivar row: the provider's.
    :ivar resources: its inventories, rows of ``capacity.rows``.
    :ivar traits: their names.
    """

    row: object
    resources: list
    traits: list


class _Search:
    """One search: what it has found out on the way.

    :param connection: for reading.
    :param conf: the options of [placement].
    :param request: Request.
    """

    def __init__(self, connection, conf, request):
        self.connection = connection
        self.conf = conf
        self.request = request
        groups = request.groups
        self.class_ids = classes.check(connection, {name for group in groups for name in group.resources})
        required, forbidden = request.root_required or ([], frozenset())
        named = set().union(*required, forbidden)
        for group in groups:
            named = named.union(*group.required, group.forbidden)
        self.trait_ids = known_traits.check(connection, named)
        self.sharing = self._sharing()
        self.nested = bool(
            connection.scalar(sa.select(sa.exists().where(resource_providers.c.parent_provider_uuid.is_not(None))))
        )
        self.tries = Tries(conf.max_candidate_combinations)
        #: How much all groups take of each class together.
        self.amounts: Counter = Counter()
        for group in groups:
            self.amounts.update(group.resources)
        #: {provider id: (id, uuid, uuid of its root)}.
        self.providers = {}
        #: [(group without its suffix, what ``_rows_by_root`` returns), …].
        self.groups_found = []

    def candidates(self):
        """Give candidates, no more than are wanted."""
        most = [each for each in (self.request.limit, self.conf.max_allocation_candidates) if each and each > 0]
        limit = min(most, default=None)
        if self.conf.randomize_allocation_candidates:
            found = list(self._all(self.conf.max_allocation_candidates))
            random.shuffle(found)
            return found[:limit]
        found = []
        for candidate in self._all(limit):
            found.append(candidate)
            if limit and len(found) >= limit:
                break
        return found

    def _all(self, limit):
        groups = self.request.groups
        # A provider alone is a tree alone where nothing is nested or shared: then each that is found is a candidate.
        enough = limit if len(groups) == 1 and not (self.nested or self.sharing) else None
        options = []
        common = None
        for group in groups:
            options.append(self._options(group, enough))
            common = options[-1][1].keys() if common is None else common & options[-1][1].keys()
            if not common:
                return
        by_turns = self.conf.allocation_candidates_generation_strategy == 'breadth-first'
        for candidate in combine(self._trees(options), self._rules(), by_turns):
            if not (self.request.flat and self.nested and self._shares_a_tree(candidate)):
                yield candidate

    def _trees(self, options):
        """Give, for each tree that all groups have options in, functions that give those of each group."""
        roots = self._roots()
        for root in options[0][1]:
            if (roots is None or root in roots) and all(root in found for _, found in options):
                yield [functools.partial(give, found[root]) for give, found in options]

    def _rules(self):
        wanted = [name for group in self.request.groups for name in group.resources]
        several = {self.class_ids[name] for name in wanted if wanted.count(name) > 1}
        rooms = {}
        if several:
            for row in capacity.rows(self.connection, resource_classes.c.id.in_(several)):
                left = capacity.units(row) - int(row.used)
                rooms[row.provider_id, row.class_id] = (left, row.max_unit)
        above = self._above() if self.request.subtrees else {}
        return Rules(self.request.isolate, rooms, self.request.subtrees, above, self.tries)

    def _options(self, group, enough):
        """Find what a group could have.

        :returns: (function that gives the options in a tree, {uuid of a root: what the function is to be given}).
        """
        if group.suffix or not (self.nested or self.sharing):
            return self._options_of_one(group, enough)
        return self._options_of_trees(group)

    def _options_of_one(self, group, enough):
        """Return the options of a group that one provider fulfils, as ``_options``.

        They are made when their tree is tried: of thousands of trees a limit leaves few.
        """
        amounts = [(self.class_ids[name], amount) for name, amount in group.resources.items()]

        def options(rows):
            for row in rows:
                taken = tuple((row.id, class_id, amount) for class_id, amount in amounts)
                yield Option(group.suffix, frozenset((row.id,)), taken)

        return options, self._rows_by_root(group, enough)

    def _rows_by_root(self, group, enough):
        """Return the rows of the providers that fulfil a group: {uuid of a root: [row, …]}.

        Groups that differ in their suffix only share them.
        """
        request = dataclasses.replace(group, suffix='')
        for other, found in self.groups_found:
            if other == request:
                return found
        by_root = defaultdict(list)
        for row in self._rows([*self._conditions(group), *self._room_for_all(group)], enough):
            for root in self._trees_of(row) if self.sharing else (row.root_provider_uuid,):
                by_root[root].append(row)
        self.groups_found.append((request, by_root))
        return by_root

    def _trees_of(self, row):
        """Give the roots of the trees that may have something of a provider: its own, and those that it shares with."""
        return {row.root_provider_uuid, *self.sharing[row.id]} if row.id in self.sharing else (row.root_provider_uuid,)

    def _room_for_all(self, group):
        """Return the conditions on a provider that has room for what all groups take of the classes of one.

        Where nothing is nested or shared, one provider fulfils all groups.  Without these conditions, thousands of
        providers are tried one by one.
        """
        if self.nested or self.sharing:
            return []
        return [
            capacity.has_room(self.class_ids[name], self.amounts[name])
            for name in group.resources
            if self.amounts[name] > group.resources[name]
        ]

    def _conditions(self, group):
        """Give the conditions on a provider that fulfils a group alone."""
        for name, amount in group.resources.items():
            yield capacity.has_room(self.class_ids[name], amount)
        yield from self._trait_conditions(group.required, group.forbidden)
        for one_of in group.member_of:
            yield is_in(one_of)
        if group.not_member_of:
            yield ~is_in(group.not_member_of)
        if group.in_tree:
            yield in_tree(group.in_tree)

    def _trait_conditions(self, required, forbidden):
        for one_of in required:
            yield known_traits.has_one_of(self.trait_ids, one_of)
        if forbidden:
            yield ~known_traits.has_one_of(self.trait_ids, forbidden)

    def _options_of_trees(self, group):
        """The options of the group that several providers of a tree, and those that share with it, fulfil together."""
        amounts = {self.class_ids[name]: amount for name, amount in group.resources.items()}
        barred = self._ids(known_traits.has_one_of(self.trait_ids, group.forbidden)) if group.forbidden else ()
        members = self._uuids(*map(is_in, group.member_of)) if group.member_of else None
        outside = self._uuids(is_in(group.not_member_of)) if group.not_member_of else set()
        trees: dict[str, dict] = defaultdict(dict)
        for class_id, amount in amounts.items():
            conditions = [capacity.has_room(class_id, amount)] + ([in_tree(group.in_tree)] if group.in_tree else [])
            for row in self._rows(conditions):
                if row.id in barred:
                    continue
                # What is shared must be a member itself; in a tree it is enough that the root is.
                shares = not group.in_tree and (members is None or row.uuid in members)
                for root in self._trees_of(row) if shares else (row.root_provider_uuid,):
                    if row.uuid in outside or root in outside:
                        continue
                    if members is None or row.uuid in members or root in members:
                        trees[root].setdefault(class_id, []).append(row.id)
        fulfilled = defaultdict(set)
        for clause, one_of in enumerate(group.required):
            for provider_id in self._ids(known_traits.has_one_of(self.trait_ids, one_of)):
                fulfilled[provider_id].add(clause)
        together = Collective(amounts, frozenset(range(len(group.required))), fulfilled, self.tries)
        return together.options, trees

    def _rows(self, conditions, limit=None):
        """Give the rows of providers, and remember them."""
        columns = (resource_providers.c.id, resource_providers.c.uuid, resource_providers.c.root_provider_uuid)
        statement = sa.select(*columns).where(*conditions).order_by(resource_providers.c.id)
        if limit and limit > 0:
            statement = statement.where(*self._root_conditions()).limit(limit)
        rows = self.connection.execute(statement).all()
        self.providers.update({row[0]: row for row in rows})
        return rows

    def _ids(self, condition):
        return set(self.connection.scalars(sa.select(resource_providers.c.id).where(condition)))

    def _uuids(self, *conditions):
        return set(self.connection.scalars(sa.select(resource_providers.c.uuid).where(*conditions)))

    def _roots(self):
        """Give the uuids of the roots that candidates may be of; None for all."""
        return None if self.request.root_required is None else self._uuids(*self._root_conditions())

    def _root_conditions(self):
        if self.request.root_required is None:
            return []
        root = resource_providers.c.parent_provider_uuid.is_(None)
        return [root, *self._trait_conditions(*self.request.root_required)]

    def _sharing(self):
        """Give {id of a provider that shares: uuids of the roots of all that are in an aggregate with it}."""
        found = known_traits.ids(self.connection, [SHARES])
        if not found:
            return {}
        shares = known_traits.has_one_of(found, [SHARES])
        mine, theirs = resource_provider_aggregates.alias(), resource_provider_aggregates.alias()
        others = resource_providers.alias()
        sharing: dict[int, set] = {provider_id: set() for provider_id in self._ids(shares)}
        if not sharing:
            return {}
        statement = (
            sa.select(mine.c.resource_provider_id, others.c.root_provider_uuid)
            .join(theirs, theirs.c.aggregate_uuid == mine.c.aggregate_uuid)
            .join(others, others.c.id == theirs.c.resource_provider_id)
            .where(mine.c.resource_provider_id.in_(sa.select(resource_providers.c.id).where(shares)))
            .distinct()
        )
        for row in self.connection.execute(statement):
            sharing[row.resource_provider_id].add(row.root_provider_uuid)
        # Of those that are in no aggregate, or alone in it, nobody else can have anything.
        return {provider_id: roots for provider_id, roots in sharing.items() if len(roots) > 1}

    def _above(self):
        """Give {id of a provider: id of the one above it}."""
        parent = resource_providers.alias()
        statement = sa.select(resource_providers.c.id, parent.c.id.label('parent_id')).join(
            parent, parent.c.uuid == resource_providers.c.parent_provider_uuid
        )
        return {row.id: row.parent_id for row in self.connection.execute(statement)}

    def _shares_a_tree(self, candidate):
        """Tell whether a candidate takes from two providers of one tree."""
        taken = {provider_id for (provider_id, _), _ in candidate.amounts}
        return len({self.providers[provider_id].root_provider_uuid for provider_id in taken}) < len(taken)

    def shown(self, found):
        """Give candidates by uuids and names, and summaries of all the trees that they take from."""
        names = {class_id: name for name, class_id in self.class_ids.items()}
        candidates = []
        for candidate in found:
            taken: dict[str, dict] = {}
            for (provider_id, class_id), amount in candidate.amounts:
                taken.setdefault(self.providers[provider_id].uuid, {})[names[class_id]] = amount
            mappings = {
                suffix: sorted(self.providers[provider_id].uuid for provider_id in providers)
                for suffix, providers in candidate.mappings
            }
            candidates.append((taken, mappings))
        used = {provider_id for candidate in found for (provider_id, _), _ in candidate.amounts}
        roots = sorted({self.providers[provider_id].root_provider_uuid for provider_id in used})
        summaries: dict[str, Summary] = {}
        for begin in range(0, len(roots), _CHUNK):
            summaries |= self._summaries(resource_providers.c.root_provider_uuid.in_(roots[begin : begin + _CHUNK]))
        if self.request.flat and self.nested:
            kept = {self.providers[provider_id].uuid for provider_id in used}
            summaries = {uuid: summary for uuid, summary in summaries.items() if uuid in kept}
        return candidates, summaries

    def _summaries(self, condition):
        inventories = defaultdict(list)
        for row in capacity.rows(self.connection, condition):
            inventories[row.provider_id].append(row)
        names = defaultdict(list)
        given = _FOREIGN.where(condition).union_all(_OWN.where(condition))
        for row in self.connection.execute(given):
            names[row.id].extend(row.traits.split(','))
        rows = self.connection.execute(sa.select(resource_providers).where(condition))
        return {row.uuid: Summary(row, inventories[row.id], sorted(names[row.id], key=_standard_first)) for row in rows}


def _standard_first(name):
    return name.startswith(PREFIX), name


#: SELECT the traits of providers, joined by commas: those that others gave them, and those of nodes.
_FOREIGN = (
    sa.select(resource_providers.c.id, sa.func.aggregate_strings(traits.c.name, ',').label('traits'))
    .join(resource_provider_traits, resource_provider_traits.c.resource_provider_id == resource_providers.c.id)
    .join(traits, traits.c.id == resource_provider_traits.c.trait_id)
    .group_by(resource_providers.c.id)
)
_OWN = (
    sa.select(resource_providers.c.id, sa.func.aggregate_strings(node_traits.c.trait, ',').label('traits'))
    .join(node_traits, node_traits.c.node_id == resource_providers.c.node_id)
    .group_by(resource_providers.c.id)
)
