"""The values in inspection rules: constants, and templates that refer to facts.

A template is text with references in braces. There are five kinds, and nothing else: no attributes of Python objects,
no calls, no conversions and no format specifications.

=====================  ============================================================
``{node.FIELD}``       a field of the node, and ``{node.FIELD[KEY]…}`` a part of it
``{inventory[KEY]…}``  a part of the inventory
``{plugin_data[KEY]…}``  a part of the other data of the inspection
``{item}``             in a loop: its item, and ``{item[KEY]…}`` a part of it
``{item.key}``         in a loop over an object: the key of its item
=====================  ============================================================

``{{`` and ``}}`` are braces. A template that is one reference has the value itself, with its type; any other is text:

>>> scope = TemplateScope(inventory={'cpu': {'count': 8}})
>>> expand('{inventory[cpu][count]}', scope), expand('{inventory[cpu][count]} CPUs', scope)
(8, '8 CPUs')

A fact is unknown if it is missing, null, or an empty text, list or object. Ramdisks send null for what they cannot
read.
"""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from ironic_traits.masks import MASK

#: Maximum number of keys of a reference.
MAX_KEYS = 20
#: Maximum number of values, and of characters, of a fact that a rule uses.
MAX_VALUES, MAX_TEXT = 10_000, 65_536
#: Maximum work that one rule may cause on one node. A unit is about one character, or one step of a regular expression.
MAX_WORK = 50_000_000
#: The work of checking a condition, or of carrying out an action.
STEP = 1000

_TOKEN = re.compile(r'\{\{|\}\}|\{[^{}]*\}|[{}]')
_REFERENCE = re.compile(
    r'\{(?:node\.(?P<field>[a-z][a-z0-9_]*)|(?P<root>inventory|plugin_data|item\.key|item))(?P<keys>\[.*\])?\}', re.S
)
_KEYS = re.compile(r'(?:\[[^\[\]]{1,255}\])+')
_SECRETS = ('auth_token', 'secret')
_SCALARS = (str, int, float, bool, type(None))


class InvalidTemplate(ValueError):
    """A template that does not follow the grammar."""


class Unusable(ValueError):
    """A fact that a rule cannot use: it is too large, or the rule causes too much work."""


class Unknown(LookupError):
    """A fact is not known, or cannot be compared. The text is a sentence without its full stop.

    :ivar is_of_item: whether it belongs to the item of a loop.
    """

    def __init__(self, reason: str, is_of_item: bool = False) -> None:
        super().__init__(reason)
        self.is_of_item = is_of_item


@dataclasses.dataclass(frozen=True)
class Reference:
    """A reference to a fact.

    :ivar root: node, inventory, plugin_data, item or item.key.
    :ivar keys: the keys and indexes that lead to it.
    """

    root: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        first, rest = ('', self.keys) if self.root != 'node' else (f'.{self.keys[0]}', self.keys[1:])
        return self.root + first + ''.join(f'[{key}]' for key in rest)

    @property
    def is_of_item(self) -> bool:
        """Whether it refers to the item of a loop."""
        return self.root in ('item', 'item.key')


@dataclasses.dataclass
class TemplateScope:
    """What the templates of a rule can refer to.

    :ivar item: the item of a loop; None outside loops.
    :ivar key: the key of the item, in a loop over an object.
    :ivar is_sensitive: whether the rule sees secrets.
    :ivar work: what the rule may still do, in units.
    """

    node: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    inventory: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    plugin_data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    item: Any = None
    key: str | None = None
    is_sensitive: bool = False
    work: list[int] = dataclasses.field(default_factory=lambda: [MAX_WORK])

    def spend(self, units: int) -> None:
        """Count work.

        :raises Unusable: the rule has done too much.
        """
        self.work[0] -= units + 1
        if self.work[0] < 0:
            raise Unusable('the rule takes too long on this node')


def check(value: Any, in_loop: bool) -> None:
    """Check the templates in a value of a rule.

    :param in_loop: whether it may refer to ``item``.
    :raises InvalidTemplate: a template does not follow the grammar; the text says where.
    """
    if isinstance(value, str):
        for part in parse(value):
            if isinstance(part, Reference) and part.is_of_item and not in_loop:
                raise InvalidTemplate(f'{value!r} refers to item, but there is no loop')
    elif isinstance(value, dict):
        for each in value.values():
            check(each, in_loop)
    elif isinstance(value, list):
        for each in value:
            check(each, in_loop)


def has_references(value: Any) -> bool:
    """Whether a value of a rule is text with a reference."""
    return isinstance(value, str) and any(isinstance(part, Reference) for part in parse(value))


@functools.lru_cache(1024)
def parse(text: str) -> tuple[str | Reference, ...]:
    """Return the parts of a template.

    :raises InvalidTemplate: it does not follow the grammar.
    """
    parts: list[str | Reference] = []
    position = 0
    for token in _TOKEN.finditer(text):
        parts.append(text[position : token.start()])
        parts.append(token[0][0] if token[0] in ('{{', '}}') else _reference(token[0], text))
        position = token.end()
    parts.append(text[position:])
    return tuple(part for part in parts if part != '')


def _reference(token: str, text: str) -> Reference:
    match = _REFERENCE.fullmatch(token)
    if match is None or '__' in token or (match['keys'] and not _KEYS.fullmatch(match['keys'])):
        raise InvalidTemplate(
            f'{token[:100]} in {text[:100]!r} is no reference: use {{node.FIELD}}, {{inventory[KEY]}}, '
            '{plugin_data[KEY]}, {item} or {item.key}, and {{ for a brace'
        )
    keys = tuple(match['keys'][1:-1].split('][')) if match['keys'] else ()
    if match['field']:
        keys = (match['field'], *keys)
    if len(keys) > MAX_KEYS:
        raise InvalidTemplate(f'{token} has {len(keys)} keys, more than {MAX_KEYS}')
    if not keys and match['root'] in ('inventory', 'plugin_data'):
        raise InvalidTemplate(f'{token} in {text[:100]!r} has no [KEY]')
    return Reference(match['root'] or 'node', keys)


def expand(value: Any, scope: TemplateScope) -> Any:
    """Return a value of a rule with the facts instead of the references.

    :raises Unknown: a fact is not known.
    :raises Unusable: a fact is too large.
    """
    if isinstance(value, str):
        parts = parse(value)
        if len(parts) == 1 and isinstance(parts[0], Reference):
            return resolve(parts[0], scope)
        return _joined(value, scope, [as_text(resolve(part, scope)) if _is_reference(part) else part for part in parts])
    if isinstance(value, dict):
        return {key: expand(each, scope) for key, each in value.items()}
    if isinstance(value, list):
        return [expand(each, scope) for each in value]
    return value


def message(value: Any, scope: TemplateScope) -> str:
    """Return a text of a rule for people. It names the facts that are not known, and needs none.

    :raises Unusable: a fact is too large.
    """
    parts = parse(value) if isinstance(value, str) else [as_text(value)]
    return _joined(as_text(value), scope, [_described(part, scope) if _is_reference(part) else part for part in parts])


def _described(reference: Reference, scope: TemplateScope) -> str:
    try:
        return as_text(resolve(reference, scope))
    except Unknown as unknown:
        return f'({unknown})'


def _is_reference(part: str | Reference) -> TypeGuard[Reference]:
    return isinstance(part, Reference)


def _joined(template: str, scope: TemplateScope, texts: Sequence[Any]) -> str:
    if sum(map(len, texts)) > MAX_TEXT:
        raise Unusable(f'{template[:100]!r} is longer than {MAX_TEXT} characters')
    scope.spend(sum(map(len, texts)))
    return ''.join(texts)


def is_unknown(value: Any) -> bool:
    """Whether a value is null, or an empty text, list or object. Blanks are an empty text."""
    return value is None or (
        not value.strip() if isinstance(value, str) else isinstance(value, list | dict) and not value
    )


def resolve(reference: Reference, scope: TemplateScope) -> Any:
    """Return the value of a reference: a copy, in which secrets are masked.

    :raises Unknown: it is missing, null or empty.
    :raises Unusable: it is too large.
    """
    value: Any = scope.key if reference.root == 'item.key' else getattr(scope, reference.root)
    for key in reference.keys:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
            if _is_secret(key) and not scope.is_sensitive and not is_unknown(value):
                value = MASK
        elif isinstance(value, list):
            scope.spend(len(value))
            value = _item(value, key, reference)
        else:
            value = None
    if is_unknown(value):
        raise Unknown(f'{reference} is not known', reference.is_of_item)
    return _Copy(reference, scope).of(value)


def _item(items: list[Any], key: str, reference: Reference) -> Any:
    """Return the item of a list that is at a position, or else has a name; None if there is none.

    :raises Unknown: several items have the name, and they differ.
    """
    if key.isascii() and key.isdecimal() and len(key) < 9 and int(key) < len(items):
        return items[int(key)]
    named = [each for each in items if isinstance(each, Mapping) and each.get('name') == key]
    if any(each != named[0] for each in named):
        raise Unknown(f'{reference} is not known: different items have the name {key}', reference.is_of_item)
    return named[0] if named else None


class _Copy:
    """A copy of a fact, with limits on its size.

    :raises Unusable: it is too large.
    """

    def __init__(self, reference: Reference, scope: TemplateScope) -> None:
        self._reference, self._scope = reference, scope
        self._values = self._text = 0

    def of(self, value: Any) -> Any:
        """Return a copy of a value."""
        length = len(value) if isinstance(value, str) else 0
        self._values += 1
        self._text += length
        if self._values > MAX_VALUES or self._text > MAX_TEXT:
            raise Unusable(f'{self._reference} has more than {MAX_VALUES} values or {MAX_TEXT} characters')
        self._scope.spend(length + 100)
        if type(value) in _SCALARS:
            # Nearly all values: the checks below take longer than the rest.
            return value
        if isinstance(value, Mapping):
            hidden = () if self._scope.is_sensitive else tuple(filter(_is_secret, value))
            return {self.of(key): MASK if key in hidden else self.of(each) for key, each in value.items()}
        return [self.of(each) for each in value] if isinstance(value, list) else value


def _is_secret(key: Any) -> bool:
    return isinstance(key, str) and ('password' in key.lower() or key.lower() in _SECRETS)


def as_text(value: Any) -> str:
    """Return the text of a value, as the real service's templates write it, without what is unknown.

    :raises Unusable: it is a number of thousands of digits.
    """
    try:
        return '' if value is None else str(_without_unknown(value))
    except ValueError:
        raise Unusable('a number is too long') from None


def _without_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_unknown(each) for key, each in value.items() if not is_unknown(each)}
    return [_without_unknown(each) for each in value if not is_unknown(each)] if isinstance(value, list) else value


def shown(value: Any, length: int = 80) -> str:
    """Return a value for a message, at most about ``length`` characters."""
    if isinstance(value, list) and len(value) > 6:
        return f'[{", ".join(shown(each, 20) for each in value[:6])}, … {len(value) - 6} more]'
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= length else f'{text[: length - 1]}…'
