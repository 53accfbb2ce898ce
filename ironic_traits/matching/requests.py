"""One request for a node, from a flavor, an image, and further arguments of the client. Pure: no database access.

The request is the union of the three, as in nova's image-traits specification. The flavor's groups (``trait1:X``,
``trait_net:X``) stay separate in the query for Placement. For nodes they are one set, because a node is one provider.
"""

import dataclasses
import re
import reprlib
import urllib.parse
from collections.abc import Iterator
from typing import Any, Self

import os_resource_classes

from ironic_traits import failures
from ironic_traits.matching import traits

#: Largest weight of a preferred trait; -MAX_WEIGHT is the smallest.
MAX_WEIGHT = 1_000_000

# nova's pattern, without its limit of the suffix: nova silently ignores a key with a longer suffix, we refuse it.
_FLAVOR_KEY = re.compile(r'(resources|trait)([a-zA-Z0-9_-]*):(.*)', re.DOTALL)
#: Maximum number of characters of a suffix.
_MAX_SUFFIX = 64
_IMAGE_KEY = re.compile(r'trait([a-zA-Z0-9_-]*):(.*)', re.DOTALL)
_CUSTOM_CLASS = re.compile(r'CUSTOM_[A-Z0-9_]{1,248}')
_VERDICTS = ('required', 'forbidden')
_POLICIES = ('none', 'isolate')


@dataclasses.dataclass
class RequestGroup:
    """A group of the request: the one without a suffix, or one with a suffix that the flavor defines.

    :ivar resources: {resource class: amount}.
    :ivar required: {trait, …}, all of which are required.
    :ivar required_any: [{trait, …}, …], of each of which one trait is required.
    :ivar forbidden: {trait, …}.
    """

    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    required: set[str] = dataclasses.field(default_factory=set)
    required_any: list[frozenset[str]] = dataclasses.field(default_factory=list)
    forbidden: set[str] = dataclasses.field(default_factory=set)

    def query(self, suffix: str) -> Iterator[tuple[str, str]]:
        """Yield the query parameters of the group for GET /allocation_candidates: (name, value)."""
        if self.resources:
            yield f'resources{suffix}', ','.join(sorted(f'{name}:{amount}' for name, amount in self.resources.items()))
        if self.required or self.forbidden:
            names = [*sorted(self.required), *(f'!{name}' for name in sorted(self.forbidden))]
            yield f'required{suffix}', ','.join(names)
        for one_of in self.required_any:
            yield f'required{suffix}', 'in:' + ','.join(sorted(one_of))


@dataclasses.dataclass(frozen=True)
class Request:
    """The requirements of a client on a node.

    :ivar resource_class: the node's resource class as Placement names it; None for any.
    :ivar required: {trait, …}: the node must have all of them.
    :ivar required_any: ({trait, …}, …): the node must have at least one trait of each set.
    :ivar forbidden: {trait, …}: the node must have none of them.
    :ivar exclusive: {trait, …}: the node must have none of them, because they are exclusive and the request does not
        ask for them.
    :ivar preferred: {trait: weight}: they order the matching nodes, and exclude none.
    :ivar groups: {suffix: RequestGroup}.
    :ivar group_policy: of the flavor: 'none' or 'isolate'; None if the flavor has none.
    :ivar warnings: (sentence, …) about what is ignored, and about what Placement would refuse.
    """

    resource_class: str | None = None
    required: frozenset[str] = frozenset()
    required_any: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    exclusive: frozenset[str] = frozenset()
    preferred: dict[str, int] = dataclasses.field(default_factory=dict)
    groups: dict[str, RequestGroup] = dataclasses.field(default_factory=dict)
    group_policy: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the request has neither requirements nor preferred traits."""
        return not (self.groups or self.preferred)

    @property
    def names(self) -> frozenset[str]:
        """All traits that the request names."""
        return self.required.union(self.forbidden, self.preferred, *self.required_any)

    @property
    def filter(self) -> traits.Filter:
        """The requirements on a node's traits, as an ironic_traits.matching.traits.Filter."""
        return traits.Filter(
            all_of=self.required, any_of=self.required_any, none_of=self.forbidden, exclusive=self.exclusive
        )

    def without_exclusive(self, names: frozenset[str]) -> Self:
        """Return the request, such that nodes with an exclusive trait do not match unless it asks for the trait.

        :param names: {exclusive trait, …}.
        """
        return dataclasses.replace(self, exclusive=names.difference(self.required, self.forbidden, *self.required_any))

    @property
    def instance_traits(self) -> list[str]:
        """The value of ``instance_info['traits']`` with which a deploy checks the same traits: a sorted list."""
        return sorted(self.required)

    def placement_query(self) -> str:
        """Return the query string of GET /allocation_candidates, sorted and quoted as nova does.

        It has no ``limit`` and no ``root_required``, which nova adds.
        """
        pairs = [pair for suffix, group in self.groups.items() for pair in group.query(suffix)]
        if self.group_policy:
            pairs.append(('group_policy', self.group_policy))
        return urllib.parse.urlencode(sorted(pairs))


def understand(flavor: Any = None, image: Any = None, **arguments: Any) -> Request:
    """Return the request that a flavor, an image and further arguments make together.

    The values may be anything that JSON can contain: they are validated here. The message of each failure names the key
    of the document that is wrong.

    :param flavor: {'extra_specs': {key: value}}; None without a flavor.
    :param image: {'properties': {key: value}}; None without an image.
    :param arguments: further requirements, all optional: ``required`` and ``forbidden``, [trait, …]; ``required_any``,
        [[trait, …], …]; ``preferred``, [trait or {'trait': trait, 'weight': integer}, …]; ``resource_class``, as of a
        node, or as Placement names it.
    :raises failures.InvalidInput: a value is not valid.
    :raises failures.InvalidTrait: a name is not a trait.
    :raises failures.ConflictingTraits: a trait is required and forbidden.
    """
    union = _Union()
    _read_flavor(union, _object(flavor, "'flavor'"))
    _read_image(union, _object(image, "'image'"))
    _read_arguments(union, arguments)
    return union.request(_preferred(arguments.get('preferred')))


class _Union:
    """The union of the requirements that have been read, with the key of the document that each of them comes from.

    The parameter ``where`` of its methods describes that key, for messages.
    """

    def __init__(self) -> None:
        self.groups: dict[str, RequestGroup] = {}
        self.group_policy: str | None = None
        self.warnings: list[str] = []
        self._classes: list[tuple[str, str]] = []
        # {verdict: {trait: the first key that has it}}
        self._where: dict[str, dict[str, str]] = {verdict: {} for verdict in _VERDICTS}
        self._any: dict[frozenset[str], str] = {}

    def group(self, suffix: str) -> RequestGroup:
        """Return the group with a suffix; add it if it is missing."""
        return self.groups.setdefault(suffix, RequestGroup())

    def add(self, verdict: str, name: str, where: str, suffix: str = '') -> None:
        """Add a required or forbidden trait.

        :param verdict: one of _VERDICTS.
        """
        _check_trait(name, where)
        getattr(self.group(suffix), verdict).add(name)
        self._where[verdict].setdefault(name, where)

    def add_any(self, names: list[Any], where: str) -> None:
        """Add a list of traits, one of which is required."""
        if not names:
            raise failures.InvalidInput(reason=f'{where} has an empty list: each list must name at least one trait.')
        for name in names:
            _check_trait(name, where)
        one_of = frozenset(names)
        if len(one_of) == 1:
            self.add('required', names[0], where)
        elif one_of not in self._any:
            self._any[one_of] = where
            self.group('').required_any.append(one_of)

    def add_class(self, name: str, where: str, suffix: str = '') -> None:
        """Add one unit of a resource class: a node has no more."""
        self.group(suffix).resources[name] = 1
        self._classes.append((name, where))

    def ensure_class(self, name: str, where: str) -> None:
        """Add one unit of a resource class, unless the flavor has added it already."""
        if all(other != name for other, _ in self._classes):
            self.add_class(name, where)

    def request(self, preferred: dict[str, int]) -> Request:
        """Return the Request, after checks across the whole union.

        :param preferred: {trait: weight}.
        """
        self._check_classes()
        self._check_conflicts()
        self._check_count(preferred)
        self._warn_of_groups()
        required, forbidden = (frozenset(self._where[verdict]) for verdict in _VERDICTS)
        return Request(
            resource_class=self._classes[0][0] if self._classes else None,
            required=required,
            required_any=tuple(self._any),
            forbidden=forbidden,
            preferred=preferred,
            groups=self.groups,
            group_policy=self.group_policy,
            warnings=tuple(self.warnings),
        )

    def _check_classes(self) -> None:
        if len(self._classes) > 1:
            (first, where), (second, elsewhere) = self._classes[:2]
            raise failures.InvalidInput(
                reason=f'{where} asks for {first}, {elsewhere} for {second}: a node has one unit of one resource class.'
            )

    def _check_conflicts(self) -> None:
        required, forbidden = (self._where[verdict] for verdict in _VERDICTS)
        for name in sorted(required.keys() & forbidden.keys()):
            raise failures.ConflictingTraits(what=name, here=required[name], there=forbidden[name])
        for one_of, where in self._any.items():
            if one_of <= forbidden.keys():
                elsewhere = ', '.join(dict.fromkeys(forbidden[name] for name in sorted(one_of)))
                raise failures.ConflictingTraits(
                    what=f'One of {", ".join(sorted(one_of))}', here=where, there=elsewhere
                )

    def _check_count(self, preferred: dict[str, int]) -> None:
        groups = self.groups.values()
        count = sum(len(group.required) + len(group.forbidden) for group in groups) + sum(map(len, self._any))
        if max(count, len(preferred)) > traits.MAX_NAMES:
            raise failures.InvalidInput(reason=f'The request names more than {traits.MAX_NAMES} traits.')
        if len(self._any) > traits.MAX_ANY_OF:
            raise failures.InvalidInput(reason=f"'required_any' has more than {traits.MAX_ANY_OF} lists.")

    def _warn_of_groups(self) -> None:
        """Add a warning for each group with traits but without resources: Placement refuses it, and so nova fails."""
        if not any(group.resources for group in self.groups.values()):
            return
        for suffix, group in self.groups.items():
            if not group.resources:
                description = f'group "{suffix}"' if suffix else 'the group without a suffix'
                names = ', '.join(sorted(group.required | group.forbidden | frozenset().union(*group.required_any)))
                self.warnings.append(
                    f'{names} of {description} cannot be requested from Placement, and so not from nova: the group has '
                    'no resources.'
                )


def _read_flavor(union: _Union, flavor: dict[str, Any]) -> None:
    for key, value in _object(flavor.get('extra_specs'), "'extra_specs' of the flavor").items():
        where = f"flavor extra_specs '{key}'"
        match = _FLAVOR_KEY.fullmatch(key)
        if key == 'group_policy':
            union.group_policy = _choice(value, _POLICIES, where)
        elif match:
            prefix, suffix, name = match.groups()
            if len(suffix) > _MAX_SUFFIX:
                raise failures.InvalidInput(
                    reason=f'{where}: the suffix of a group has {_MAX_SUFFIX} characters at most.'
                )
            if prefix == 'trait':
                union.add(_choice(value, _VERDICTS, where), name, where, suffix)
            else:
                _read_resource(union, name, value, where, suffix)


def _read_resource(union: _Union, name: str, value: Any, where: str, suffix: str) -> None:
    if not (name in os_resource_classes.STANDARDS or _CUSTOM_CLASS.fullmatch(name)):
        raise failures.InvalidInput(reason=f'{where}: {_excerpt(name)} is not a resource class.')
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch(r'[0-9]{1,10}', text):
        raise failures.InvalidInput(
            reason=f'{where} is {_excerpt(value)}: a resource has an amount, an integer of 0 or more.'
        )
    # Amount 0 is allowed: flavors for nodes set VCPU, MEMORY_MB and DISK_GB, which no node has, to 0.
    amount = int(text)
    if amount > 1 or (amount and name in os_resource_classes.STANDARDS):
        raise failures.InvalidInput(
            reason=f'{where} is {_excerpt(value)}: a node has one unit of one CUSTOM_ resource class, and nothing else.'
        )
    if amount:
        union.add_class(name, where, suffix)


def _read_image(union: _Union, image: dict[str, Any]) -> None:
    for key, value in _object(image.get('properties'), "'properties' of the image").items():
        match = _IMAGE_KEY.fullmatch(key)
        where = f"image property '{key}'"
        if match and match[1]:
            union.warnings.append(f'{where} is ignored: the traits of images have no groups.')
        elif match and value != 'required':
            union.warnings.append(f"{where} is {_excerpt(value)}, and ignored: only 'required' counts in an image.")
        elif match:
            union.add('required', match[2], where)


def _read_arguments(union: _Union, arguments: dict[str, Any]) -> None:
    for verdict in _VERDICTS:
        for name in _list(arguments.get(verdict), f"'{verdict}'"):
            union.add(verdict, name, f"'{verdict}'")
    where = "'required_any'"
    for names in _list(arguments.get('required_any'), where):
        union.add_any(_list(names, f'each member of {where}', is_optional=False), where)
    if arguments.get('resource_class') is not None:
        union.ensure_class(_class(arguments['resource_class']), "'resource_class'")


def _class(name: Any) -> str:
    """Return the name in Placement of a node's resource class. A valid name of Placement is returned as it is."""
    where = "'resource_class'"
    if not isinstance(name, str) or not 1 <= len(name) <= traits.MAX_LENGTH:
        raise failures.InvalidInput(reason=f'{where} is a string of 1 to {traits.MAX_LENGTH} characters.')
    return name if _CUSTOM_CLASS.fullmatch(name) else os_resource_classes.normalize_name(name)


def _preferred(value: Any) -> dict[str, int]:
    where = "'preferred'"
    preferred: dict[str, int] = {}
    for item in _list(value, where):
        if not isinstance(item, dict):
            item = {'trait': item}
        unknown = sorted(item.keys() - {'trait', 'weight'})
        weight = item.get('weight', 1)
        if 'trait' not in item or unknown:
            raise failures.InvalidInput(reason=f"{where} lists traits, or objects of 'trait' and 'weight'.")
        if not isinstance(weight, int) or isinstance(weight, bool) or abs(weight) > MAX_WEIGHT:
            raise failures.InvalidInput(
                reason=f'{where}: the weight of a trait is an integer from -{MAX_WEIGHT} to {MAX_WEIGHT}.'
            )
        _check_trait(item['trait'], where)
        if item['trait'] in preferred:
            raise failures.InvalidInput(reason=f'{where} names {item["trait"]} twice.')
        preferred[item['trait']] = weight
    return preferred


def _check_trait(name: Any, where: str) -> None:
    if not isinstance(name, str):
        raise failures.InvalidInput(reason=f'{where}: {_excerpt(name)} is not a string.')
    if not traits.is_trait(name):
        raise failures.InvalidTrait(name, traits.nearest(name), where)


def _excerpt(value: Any) -> str:
    """Return a value that a client sent as Python writes it, for a message, with a limited length and depth."""
    return reprlib.repr(value)


def _object(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise failures.InvalidInput(reason=f'{where} must be an object.')
    return value


def _list(value: Any, where: str, is_optional: bool = True) -> list[Any]:
    if value is None and is_optional:
        return []
    if not isinstance(value, list):
        raise failures.InvalidInput(reason=f'{where} must be a list.')
    return value


def _choice(value: Any, choices: tuple[str, ...], where: str) -> str:
    if value not in choices:
        raise failures.InvalidInput(
            reason=f'{where} is {_excerpt(value)}: it may be {" or ".join(map(repr, choices))}.'
        )
    return value
