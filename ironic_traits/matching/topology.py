"""Topology: policies about the groups that nodes belong to, such as racks. Pure: no database access.

A request for several nodes may have policies: all nodes in one rack, one node per rack, the fullest rack first. A key
divides nodes into groups. The policies have the names that nova's server groups have.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from oslo_utils import uuidutils

from ironic_traits import failures, spelling
from ironic_traits.matching.traits import MAX_LENGTH
from ironic_traits.uuids import canonical

AFFINITY, ANTI_AFFINITY = 'affinity', 'anti-affinity'
SOFT_AFFINITY, SOFT_ANTI_AFFINITY = 'soft-affinity', 'soft-anti-affinity'
SOFT = (SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
POLICIES = (AFFINITY, ANTI_AFFINITY, *SOFT)
FULLEST, EMPTIEST = 'fullest', 'emptiest'
TRAIT_PREFIX = 'trait:'
#: Fields of nodes that can be a key, and the fields with an object, of which a path can be one.
FIELDS = ('chassis_uuid', 'conductor_group', 'driver', 'lessee', 'owner', 'parent_node', 'resource_class', 'shard')
OBJECTS = ('extra', 'properties')
#: Maximum number of policies, and of instances that one refers to.
MAX_POLICIES, MAX_INSTANCES = 8, 1000
_BEGINNING = re.compile(r'[A-Z0-9_]+')
#: Beginning of the name of the clause that a node without a group does not fulfil.
CLAUSE = 'topology:'


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy about the groups of the nodes of a request.

    :ivar key: what divides nodes into groups: TRAIT_PREFIX and the beginning of traits, one of FIELDS, or a path such
        as ``properties/rack``.
    :ivar name: one of POLICIES; None for none.
    :ivar max_per_group: maximum number of nodes in one group; None for no maximum.
    :ivar prefer: FULLEST or EMPTIEST: which groups come first; None for the order of their names.
    :ivar relative_to: uuids of instances, whose nodes count as nodes of the request.
    """

    key: str
    name: str | None = None
    max_per_group: int | None = None
    prefer: str | None = None
    relative_to: tuple[str, ...] = ()

    @property
    def limit(self) -> int | None:
        """The maximum number of nodes in one group; None for no maximum."""
        return 1 if self.max_per_group is None and self.name == ANTI_AFFINITY else self.max_per_group

    @property
    def is_hard(self) -> bool:
        """Whether the policy excludes choices."""
        return self.name == AFFINITY or self.limit is not None

    @property
    def clause(self) -> str:
        """The name of the clause that a node without a group does not fulfil."""
        return CLAUSE + self.key

    def allows(self, numbers: Mapping[str, int], chosen: Collection[str]) -> bool:
        """Whether the policy allows a choice of nodes. A soft policy only has the maximum of each group.

        :param numbers: {group: number of nodes in it}, with the nodes of ``relative_to``.
        :param chosen: the groups of the chosen nodes.
        """
        is_together = self.name != AFFINITY or len(numbers) <= 1
        return is_together and (self.limit is None or all(numbers[value] <= self.limit for value in chosen))

    def is_met(self, numbers: Mapping[str, int], chosen: Collection[str]) -> bool:
        """Whether a choice of nodes fulfils the policy as if it were a hard one.

        The parameters are those of ``allows``.
        """
        if self.name == SOFT_ANTI_AFFINITY:
            return Policy(self.key, ANTI_AFFINITY).allows(numbers, chosen)
        return self.allows(numbers, chosen) and (self.name != SOFT_AFFINITY or len(numbers) <= 1)


class Report(NamedTuple):
    """How far a choice of nodes fulfils a policy.

    :ivar numbers: {group: number of nodes in it}, with the nodes of ``relative_to``.
    :ivar is_met: as of ``Policy.is_met``.
    """

    policy: Policy
    numbers: dict[str, int]
    is_met: bool


def group(key: str, value: Any) -> str | None:
    """Return the group of a node; None if it has none.

    :param value: the traits of the node that begin with the prefix in the key, a list; the value of the field in the
        key; or the value of the field with the path in the key.
    """
    if key.startswith(TRAIT_PREFIX):
        # With two racks, it is not known which is right.
        return value[0] if len(value) == 1 else None
    for name in key.split('/')[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) or None if is_scalar else None


def prefix(key: str) -> str | None:
    """Return the beginning of the traits that are the groups of a key; None if the key is a field."""
    return key.removeprefix(TRAIT_PREFIX) if key.startswith(TRAIT_PREFIX) else None


def count(policies: Sequence[Policy], cells: Iterable[Sequence[str | None]]) -> list[Counter[str]]:
    """Return the number of nodes in each group, for each policy.

    :param cells: for each node, its group for each policy.
    """
    numbers: list[Counter[str]] = [Counter() for _ in policies]
    for cell in cells:
        for counter, value in zip(numbers, cell, strict=True):
            if value is not None:
                counter[value] += 1
    return numbers


def parse(value: Any, relative_to: Any = None) -> tuple[Policy, ...]:
    """Return the policies in a request.

    :param value: [{'key': …, 'policy': …, 'max_per_group': …, 'prefer': …, 'relative_to': …}, …], or anything else
        that JSON can contain; None for no policies.
    :param relative_to: [uuid of an instance, …] for policies that have none.
    :raises failures.InvalidInput: it is not valid.
    """
    if not value:
        _require(value in (None, []), "'topology' must be a list.")
        _require(relative_to in (None, []), "'relative_to' needs 'topology'.")
        return ()
    _require(
        isinstance(value, list) and len(value) <= MAX_POLICIES, f"'topology' lists at most {MAX_POLICIES} objects."
    )
    return tuple(_policy(item, f"'topology', number {number}", relative_to) for number, item in enumerate(value))


_KEYS = ('key', 'policy', 'max_per_group', 'prefer', 'relative_to')


def _policy(item: Any, where: str, relative_to: Any) -> Policy:
    _require(isinstance(item, dict), f'{where} must be an object.')
    if unknown := item.keys() - set(_KEYS):
        raise failures.UnknownKeys(unknown, _KEYS, f'{where} has unknown keys')
    name, most, prefer = (item.get(each) for each in _KEYS[1:4])
    _check_key(item.get('key'), where)
    for each, choices in (('policy', POLICIES), ('prefer', (FULLEST, EMPTIEST))):
        allowed = ', '.join(choices)
        _require(item.get(each) in (None, *choices), f"{where}: '{each}' may be {allowed}.")
    is_number = isinstance(most, int) and not isinstance(most, bool) and 1 <= most < 2**31
    _require(most is None or is_number, f"{where}: 'max_per_group' is a number of 1 or more.")
    _require(bool(name or most or prefer), f"{where} needs 'policy', 'max_per_group' or 'prefer'.")
    own = item.get('relative_to')
    return Policy(item['key'], name, most, prefer, _instances(relative_to if own is None else own))


def _check_key(key: Any, where: str) -> None:
    _require(
        isinstance(key, str) and len(key) <= MAX_LENGTH, f"{where} needs a 'key' of {MAX_LENGTH} characters at most."
    )
    field, *path = key.split('/')
    beginning = prefix(key)
    is_path = field in OBJECTS and bool(path) and all(path)
    if not (key in FIELDS or is_path if beginning is None else _BEGINNING.fullmatch(beginning)):
        allowed = ', '.join((f'{TRAIT_PREFIX}PREFIX', *FIELDS, *(f'{name}/NAME' for name in OBJECTS)))
        hint = spelling.hint(key, FIELDS)
        raise failures.InvalidInput(reason=f"{where}: 'key' may be {allowed}, not {key!r:.100}.{hint}")


def _instances(value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list) and len(value) <= MAX_INSTANCES and all(map(uuidutils.is_uuid_like, value))
    _require(value is None or is_list, f"'relative_to' lists at most {MAX_INSTANCES} uuids of instances.")
    return tuple(dict.fromkeys(map(canonical, value or ())))


def _require(is_valid: bool, sentence: str) -> None:
    if not is_valid:
        raise failures.InvalidInput(reason=sentence)
