"""The sources of the traits of a document.

A node of a document may have ``trait_sources`` beside ``traits``: {source: [trait, …]}. Traits without a source are the
operator's. Only the service itself writes as a reserved source. So an import leaves what such a source holds, and
writes the rest of its traits as the operator's.
"""

import dataclasses
from typing import Any

from ironic_traits.matching import sources

Held = dict[str, set[str]]


def check_source(name: str | None) -> None:
    """Raise ValueError, with a sentence, if an import cannot write as a source.

    :param name: name of the source; None for plain writes.
    """
    if name is None:
        return
    if not sources.is_source(name):
        raise ValueError(
            f'{name!r} is not the name of a source. A source is 1 to {sources.MAX_LENGTH} letters, digits, dots, '
            'underscores, colons and dashes.'
        )
    if sources.is_reserved(name):
        raise ValueError(f'The source {name} belongs to the service itself. An import cannot write as it.')


def problems(node: dict[str, Any]) -> list[str]:
    """Return a sentence for each problem of ``trait_sources`` of a node in a document."""
    stated = node.get('trait_sources', {})
    if not isinstance(stated, dict) or not all(_is_names(names) for names in stated.values()):
        return ['must be an object of lists of names, {source: [trait, …]}.']
    traits = node.get('traits', [])
    missing = {trait for names in stated.values() for trait in names}.difference(traits if _is_names(traits) else ())
    wrong = (name for name in stated if name == sources.PLACEMENT or not sources.is_source(name))
    return [
        *(f'{name!r} is not the name of a source.' for name in wrong),
        *(f"has {trait}, which the node's traits do not have." for trait in sorted(missing)),
    ]


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def held(details: dict[str, Any]) -> Held:
    """Return the traits of a node by the sources that hold them, {source: {trait, …}}, without foreign traits.

    :param details: response of GET /v1/nodes/NODE/traits?detail=true, or the field ``trait_sources`` of a node.
    """
    result: Held = {}
    for each in details['traits']:
        for hold in each['sources']:
            if hold['source'] != sources.PLACEMENT:
                result.setdefault(hold['source'], set()).add(each['trait'])
    return result


def exported(details: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a node in a document that say which source holds its traits.

    :param details: as for ``held``.
    :returns: {} if no source but the operator holds a trait.
    """
    by_source = held(details)
    if not by_source.keys() - {sources.OPERATOR}:
        return {}
    return {
        'traits': sorted(set().union(*by_source.values())),
        'trait_sources': {source: sorted(names) for source, names in sorted(by_source.items())},
    }


@dataclasses.dataclass(frozen=True)
class SourceTargets:
    """What the sources of a document are to hold on a node.

    :ivar names: {source: {trait, …}}, in the order in which to write them.
    :ivar adopted: reserved sources, of which traits become the operator's.
    """

    names: Held
    adopted: frozenset[str] = frozenset()


def targets(item: dict[str, Any], source: str | None, present: Held) -> SourceTargets:
    """Return what the sources of a document are to hold on a node.

    :param item: the node in the document, with ``traits``.
    :param source: the source of the import; None if the document states its sources.
    :param present: result of ``held``; {} for a new node.
    """
    if source is not None:
        return SourceTargets({source: set(item.get('traits', []))})
    stated = {name: set(names) for name, names in item.get('trait_sources', {}).items()}
    operator = set(item['traits']).difference(*stated.values()) | stated.pop(sources.OPERATOR, set())
    adopted = set()
    for name in [name for name in stated if sources.is_reserved(name)]:
        missing = stated.pop(name) - present.get(name, set())
        if missing:
            adopted.add(name)
            operator |= missing
    stated[sources.OPERATOR] = operator

    def growth(name: str) -> tuple[int, str]:
        # Those that lose traits come first, so that the node does not exceed the limit on the way.
        return len(stated[name]) - len(present.get(name, ())), name

    return SourceTargets({name: stated[name] for name in sorted(stated, key=growth)}, frozenset(adopted))


def adoption(adopted: set[str]) -> list[str]:
    """Return the sentence of a report about the reserved sources of a document, as a list; [] if it has none."""
    if not adopted:
        return []
    return [f'Only the service itself writes as {", ".join(sorted(adopted))}: these traits are written as operator.']
