"""The changes of an import, as lines of text."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ironic_traits import masks
from ironic_traits.resources.fields import Resource
from ironic_traits.resources.values import differ

_masked = functools.partial(masks.masked, also=masks.INSTANCE_INFO)
#: Maximum number of characters of a value that are shown.
_MAX_LENGTH = 200


def label(noun: Resource, item: Mapping[str, Any], of: str | None = None) -> str:
    """Return a readable label of an item, as 'port 52:54:00:cf:2d:31 of node rack1-1'.

    :param item: the fields of the item.
    :param of: label of the node that the item belongs to; None if it belongs to no node.
    """
    values = ([item.get(name) for name in names] for names in (('name',), *reversed(noun.identifiers)))
    name = next((' '.join(map(str, each)) for each in values if None not in each), '')
    return f'{noun.singular} {name}'.rstrip() + (f' of {of}' if of else '')


def fields(item_label: str, old: Mapping[str, Any], new: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Generate a line for each field that differs; secrets are masked.

    :param item_label: ``label`` of the item.
    :param old: the fields before.
    :param new: the fields after.
    :param names: names of the fields to compare.
    """
    for name in sorted(names):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            masked_before, masked_after = _masked(before), _masked(after)
            for key in sorted(before.keys() | after.keys()):
                if key not in before or key not in after or differ({'': before[key]}, {'': after[key]}):
                    yield f'~ {item_label}: {name}.{key}: {_text(masked_before, key)} → {_text(masked_after, key)}'
        elif differ(before, after):
            yield f'~ {item_label}: {name}: {_text(old, name)} → {_text(new, name)}'


def traits(item_label: str, old: Iterable[str], new: Iterable[str], source: str | None = None) -> Iterator[str]:
    """Generate a line for each trait that is added or removed.

    :param item_label: ``label`` of the node.
    :param old: names of the traits before.
    :param new: names of the traits after.
    :param source: the source that adds and removes them; None for a plain write.
    """
    by = '' if source is None else f' (source {source})'
    yield from (f'~ {item_label}: + trait {name}{by}' for name in sorted(set(new).difference(old)))
    yield from (f'~ {item_label}: - trait {name}{by}' for name in sorted(set(old).difference(new)))


def _text(document: Mapping[str, Any], key: str) -> str:
    if key not in document:
        return 'nothing'
    value = document[key]
    text = json.dumps(_masked(value) if isinstance(value, dict) else value, ensure_ascii=False)
    return text if len(text) <= _MAX_LENGTH else f'{text[:_MAX_LENGTH]}…'
