"""What a boot needs: one request, made of a flavor, of an image, and of what a client says besides; pure.

The union of all of it, as nova's image-traits specification has it.  The flavor's groups (``trait1:X``,
``trait_net:X``) stay apart where Placement is asked, and are one set for a node, which is one provider.
"""

import dataclasses
import re
import urllib.parse
from collections.abc import Iterator
from reprlib import repr  # of what a client sent: neither long nor deep
from typing import Any

import os_resource_classes

from ironic_traits import failures
from ironic_traits.matching import traits

#: Most points that one preferred trait may give or take.
MAX_WEIGHT = 1_000_000

# nova's own pattern, but for the length of the suffix, which it leaves to silence.
_FLAVOR_KEY = re.compile(r'(resources|trait)([a-zA-Z0-9_-]*):(.*)', re.DOTALL)
_MAX_SUFFIX = 64
_IMAGE_KEY = re.compile(r'trait([a-zA-Z0-9_-]*):(.*)', re.DOTALL)
_CUSTOM_CLASS = re.compile(r'CUSTOM_[A-Z0-9_]{1,248}')
_VERDICTS = ('required', 'forbidden')
_POLICIES = ('none', 'isolate')


@dataclasses.dataclass
class Group:
    """What is wanted of one provider: the group without a suffix, or one that the flavor numbers or names.

    :ivar resources: {resource class: amount}.
    :ivar required: traits.
    :ivar required_any: sets of traits, of each of which one will do.
    :ivar forbidden: traits.
    """

    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    required: set[str] = dataclasses.field(default_factory=set)
    required_any: list[frozenset[str]] = dataclasses.field(default_factory=list)
    forbidden: set[str] = dataclasses.field(default_factory=set)

    def query(self, suffix) -> Iterator[tuple[str, str]]:
        """Give the arguments of a Placement query that stand for the group."""
        if self.resources:
            yield f'resources{suffix}', ','.join(sorted(f'{name}:{amount}' for name, amount in self.resources.items()))
        if self.required or self.forbidden:
            names = [*sorted(self.required), *(f'!{name}' for name in sorted(self.forbidden))]
            yield f'required{suffix}', ','.join(names)
        for one_of in self.required_any:
            yield f'required{suffix}', 'in:' + ','.join(sorted(one_of))


@dataclasses.dataclass(frozen=True)
class Request:
    """What is wanted of a node.

    :ivar resource_class: Placement's name of the node's resource class; None for any.
    :ivar required: every one of these traits.
    :ivar required_any: of each of these sets of traits at least one.
    :ivar forbidden: not one of these traits.
    :ivar preferred: {trait: weight}: what orders the nodes, and excludes none.
    :ivar groups: {suffix: Group}.
    :ivar group_policy: of the flavor; None when it says nothing.
    :ivar warnings: what has been ignored, or cannot be had of Placement: sentences.
    """

    resource_class: str | None = None
    required: frozenset[str] = frozenset()
    required_any: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    preferred: dict[str, int] = dataclasses.field(default_factory=dict)
    groups: dict[str, Group] = dataclasses.field(default_factory=dict)
    group_policy: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self):
        """Whether it asks for nothing."""
        return not (self.groups or self.preferred)

    @property
    def filter(self):
        """What it asks of a node's traits, as an ironic_traits.matching.traits.Filter."""
        return traits.Filter(all_of=self.required, any_of=self.required_any, none_of=self.forbidden)

    @property
    def instance_traits(self):
        """What ``instance_info['traits']`` must list, so that a deploy checks the same: a sorted list."""
        return sorted(self.required)

    def placement_query(self):
        """Give the query string of GET /allocation_candidates, sorted and quoted as nova does.

        Without ``limit`` and ``root_required``, which are nova's own.
        """
        pairs = [pair for suffix, group in self.groups.items() for pair in group.query(suffix)]
        if self.group_policy:
            pairs.append(('group_policy', self.group_policy))
        return urllib.parse.urlencode(sorted(pairs))


def understand(flavor=None, image=None, **said):
    """Make one request of all that is wanted.

    :param flavor: {'extra_specs': {key: value}}; None for none.
    :param image: {'properties': {key: value}}; None for none.
    :param said: what a client says besides: ``required`` and ``forbidden``, lists of traits; ``required_any``, a list
        of lists; ``preferred``, a list of traits or of {'trait': …, 'weight': …}; ``resource_class``, a node's, or
        Placement's name of it.
    :returns: Request.
    :raises failures.InvalidInput: something is not what it must be; the sentence names the key of the document.
    :raises failures.InvalidTrait: a name is no trait; likewise.
    :raises failures.ConflictingTraits: a trait is required and forbidden; likewise.
    """
    union = _Union()
    _read_flavor(union, _object(flavor, "'flavor'"))
    _read_image(union, _object(image, "'image'"))
    _read_said(union, said)
    return union.request(_preferred(said.get('preferred')))


class _Union:
    """What has been read so far, and where."""

    def __init__(self):
        self.groups: dict[str, Group] = {}
        self.group_policy = None
        self.warnings: list[str] = []
        self._classes: list[tuple[str, str]] = []
        # {verdict: {trait: where it was read first}}
        self._where: dict[str, dict[str, str]] = {verdict: {} for verdict in _VERDICTS}
        self._any: dict[frozenset[str], str] = {}

    def group(self, suffix) -> Group:
        return self.groups.setdefault(suffix, Group())

    def add(self, verdict, name, where, suffix=''):
        """Require or forbid a trait."""
        _check_trait(name, where)
        getattr(self.group(suffix), verdict).add(name)
        self._where[verdict].setdefault(name, where)

    def add_any(self, names, where):
        """Require one of several traits."""
        if not names:
            raise failures.InvalidInput(reason=f'{where} has an empty list in it: no node has one of no traits.')
        for name in names:
            _check_trait(name, where)
        one_of = frozenset(names)
        if len(one_of) == 1:
            self.add('required', names[0], where)
        elif one_of not in self._any:
            self._any[one_of] = where
            self.group('').required_any.append(one_of)

    def add_class(self, name, where, suffix=''):
        """Want a node's one unit of a resource class."""
        self.group(suffix).resources[name] = 1
        self._classes.append((name, where))

    def say_class(self, name, where):
        """Want a resource class, which the flavor may have wanted already."""
        if all(other != name for other, _ in self._classes):
            self.add_class(name, where)

    def request(self, preferred):
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

    def _check_classes(self):
        if len(self._classes) > 1:
            (first, here), (second, there) = self._classes[:2]
            raise failures.InvalidInput(
                reason=f'{here} asks for {first}, {there} for {second}: a node has one unit of one resource class.'
            )

    def _check_conflicts(self):
        required, forbidden = (self._where[verdict] for verdict in _VERDICTS)
        for name in sorted(required.keys() & forbidden.keys()):
            raise failures.ConflictingTraits(what=name, here=required[name], there=forbidden[name])
        for one_of, where in self._any.items():
            if one_of <= forbidden.keys():
                there = ', '.join(dict.fromkeys(forbidden[name] for name in sorted(one_of)))
                raise failures.ConflictingTraits(what=f'One of {", ".join(sorted(one_of))}', here=where, there=there)

    def _check_count(self, preferred):
        groups = self.groups.values()
        count = sum(len(group.required) + len(group.forbidden) for group in groups) + sum(map(len, self._any))
        if max(count, len(preferred)) > traits.MAX_NAMES:
            raise failures.InvalidInput(reason=f'The request names more than {traits.MAX_NAMES} traits.')
        if len(self._any) > traits.MAX_ANY_OF:
            raise failures.InvalidInput(reason=f"'required_any' has more than {traits.MAX_ANY_OF} lists.")

    def _warn_of_groups(self):
        """Say what Placement would refuse, and with it nova: traits of a group that has no resources."""
        if not any(group.resources for group in self.groups.values()):
            return
        for suffix, group in self.groups.items():
            if not group.resources:
                named = f'group "{suffix}"' if suffix else 'the group without a suffix'
                names = ', '.join(sorted(group.required | group.forbidden | frozenset().union(*group.required_any)))
                self.warnings.append(
                    f'{names} of {named} cannot be asked of Placement, and so not of nova: the group has no resources.'
                )


def _read_flavor(union, flavor):
    for key, value in _object(flavor.get('extra_specs'), "'extra_specs' of the flavor").items():
        where = f"flavor extra_specs '{key}'"
        match = _FLAVOR_KEY.fullmatch(key)
        if key == 'group_policy':
            union.group_policy = _choice(value, _POLICIES, where)
        elif match:
            prefix, suffix, name = match.groups()
            if len(suffix) > _MAX_SUFFIX:
                raise failures.InvalidInput(reason=f'{where}: a group has {_MAX_SUFFIX} characters at most.')
            if prefix == 'trait':
                union.add(_choice(value, _VERDICTS, where), name, where, suffix)
            else:
                _read_resource(union, name, value, where, suffix)


def _read_resource(union, name, value, where, suffix):
    if not (name in os_resource_classes.STANDARDS or _CUSTOM_CLASS.fullmatch(name)):
        raise failures.InvalidInput(reason=f'{where}: {repr(name)} is no resource class.')
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch(r'[0-9]{1,10}', text):
        raise failures.InvalidInput(
            reason=f'{where} is {repr(value)}: a resource has an amount, an integer of 0 or more.'
        )
    # Nothing of what every flavor of nova has, and no node: VCPU, MEMORY_MB, DISK_GB.
    amount = int(text)
    if amount > 1 or (amount and name in os_resource_classes.STANDARDS):
        raise failures.InvalidInput(
            reason=f'{where} is {repr(value)}: a node has one unit of one CUSTOM_ resource class, and nothing else.'
        )
    if amount:
        union.add_class(name, where, suffix)


def _read_image(union, image):
    for key, value in _object(image.get('properties'), "'properties' of the image").items():
        match = _IMAGE_KEY.fullmatch(key)
        where = f"image property '{key}'"
        if match and match[1]:
            union.warnings.append(f'{where} is ignored: the traits of images have no groups.')
        elif match and value != 'required':
            union.warnings.append(f"{where} is {repr(value)}, and ignored: only 'required' counts in an image.")
        elif match:
            union.add('required', match[2], where)


def _read_said(union, said):
    for verdict in _VERDICTS:
        for name in _list(said.get(verdict), f"'{verdict}'"):
            union.add(verdict, name, f"'{verdict}'")
    where = "'required_any'"
    for names in _list(said.get('required_any'), where):
        union.add_any(_list(names, f'each member of {where}', nothing=False), where)
    if said.get('resource_class') is not None:
        union.say_class(_class(said['resource_class']), "'resource_class'")


def _class(name):
    """Give Placement's name of a node's resource class; a name of Placement's is one already."""
    where = "'resource_class'"
    if not isinstance(name, str) or not 1 <= len(name) <= traits.MAX_LENGTH:
        raise failures.InvalidInput(reason=f'{where} is a string of 1 to {traits.MAX_LENGTH} characters.')
    return name if _CUSTOM_CLASS.fullmatch(name) else os_resource_classes.normalize_name(name)


def _preferred(given):
    where, preferred = "'preferred'", {}
    for item in _list(given, where):
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


def _check_trait(name, where):
    if not isinstance(name, str):
        raise failures.InvalidInput(reason=f'{where}: {repr(name)} is not a string.')
    if not traits.is_trait(name):
        raise failures.InvalidTrait(name, traits.nearest(name), where)


def _object(given, where) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise failures.InvalidInput(reason=f'{where} must be an object.')
    return given


def _list(given, where, nothing=True) -> list[Any]:
    if given is None and nothing:
        return []
    if not isinstance(given, list):
        raise failures.InvalidInput(reason=f'{where} must be a list.')
    return given


def _choice(value, choices, where):
    if value not in choices:
        raise failures.InvalidInput(reason=f'{where} is {repr(value)}: it may be {" or ".join(map(repr, choices))}.')
    return value
