"""Root device hints: they choose the disk that is the root device of a node, as in Ironic.

``properties.root_device`` of the node has the hints. ``properties.skip_block_devices`` has a list of hints for disks to
skip. A hint is a value, or an operator with values: ``{"size": ">= 100", "vendor": "<or> a <or> b"}``.
"""

import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyparsing
from oslo_utils import specs_matcher, strutils, units

#: {hint: type of its value}. Sizes in hints are in GiB, sizes of disks in bytes.
_TYPES: dict[str, type] = {
    'size': int,
    'rotational': bool,
    **dict.fromkeys(
        ('model', 'wwn', 'serial', 'vendor', 'wwn_with_extension', 'wwn_vendor_extension', 'name', 'hctl', 'by_path'),
        str,
    ),
}
_GRAMMAR = specs_matcher.make_grammar()


class InvalidHints(ValueError):
    """The hints cannot be parsed."""


def choose(disks: Sequence[Mapping[str, Any]], properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first disk that matches the hints of a node.

    :param disks: disks of an inventory.
    :param properties: ``properties`` of the node, with ``root_device``.
    :returns: the disk; None if no disk matches the hints.
    :raises InvalidHints: the hints cannot be parsed.
    """
    skipped = [disk for hints in _skip_list(properties) for disk in matches(disks, hints)]
    return next(matches([disk for disk in disks if disk not in skipped], properties['root_device']), None)


def matches(disks: Sequence[Mapping[str, Any]], hints: Any) -> Iterator[Mapping[str, Any]]:
    """Return an iterator over the disks that match all hints.

    :param disks: disks of an inventory.
    :param hints: {hint: value, or operator and values}.
    :raises InvalidHints: the hints cannot be parsed.
    """
    if not isinstance(hints, Mapping) or not _TYPES.keys() >= hints.keys():
        raise InvalidHints(f'{hints!r:.200} is not an object with the keys {", ".join(sorted(_TYPES))}')
    try:
        specs = {name: _spec(name, value) for name, value in hints.items()}
        return iter([disk for disk in disks if all(_fits(disk.get(name), name, spec) for name, spec in specs.items())])
    except (ValueError, TypeError, SyntaxError, pyparsing.ParseBaseException) as error:
        raise InvalidHints(f'{hints!r:.200}: {error}') from error


def _skip_list(properties: Mapping[str, Any]) -> Sequence[Any]:
    hints = properties.get('skip_block_devices') or ()
    if not isinstance(hints, list | tuple):
        raise InvalidHints(f'skip_block_devices is not a list: {hints!r:.200}')
    return hints


def _spec(name: str, value: Any) -> Any:
    """Return a hint in the format of ``specs_matcher``; a boolean for a boolean hint."""
    if _TYPES[name] is bool:
        return strutils.bool_from_string(value, strict=True)
    operator, values = _parts(value)
    if _TYPES[name] is int:
        if operator != '<range-in>' and not all(int(each) > 0 for each in values):
            raise ValueError(f'the hint {name} is not a positive number of GiB')
        return str(value) if operator else f'== {value}'
    quoted = [urllib.parse.quote(each) for each in values]
    return ' '.join(f'{operator or "s=="} {each}' for each in quoted)


def _fits(value: Any, name: str, spec: Any) -> bool:
    """Whether the value of a disk matches a hint. A missing or unusable value does not match."""
    if value is None or value == '':
        return False
    if _TYPES[name] is bool:
        return _is(value, spec)
    if _TYPES[name] is int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        size = value / units.Gi
        return specs_matcher.match(str(size) if spec.startswith('<range-in>') else size, spec)
    return specs_matcher.match(urllib.parse.quote(str(value).strip().lower()), spec)


def _is(value: Any, spec: bool) -> bool:
    try:
        return strutils.bool_from_string(value, strict=True) is spec
    except ValueError:
        return False


def _parts(value: Any) -> tuple[str, list[str]]:
    """Return the operator of a hint ('' if it has none), and its values in lower case."""
    text = str(value).strip().lower()
    if not text:
        raise ValueError('a hint is empty')
    tokens = _GRAMMAR.parse_string(text)
    if len(tokens) <= 1:
        return '', [text]
    operator = tokens[0]
    return operator, [part.strip() for part in re.split(re.escape(operator), text) if part.strip()]
