"""The traits of a node with their sources, in responses."""

from typing import Any

from ironic_traits.api import types
from ironic_traits.inventory.traits.node_traits import Details, ShownHold


class Hold(types.Base):
    """A source's hold on a trait; null for what is not recorded."""

    source = str
    since = types.MOMENT
    user = str
    project = str


class SourcedTrait(types.Base):
    """A trait of a node, with the sources that hold it."""

    trait = str
    sources = [Hold]
    vetoed = types.BOOLEAN


class Veto(types.Base):
    """A trait that only the operator can add."""

    trait = str
    since = types.MOMENT
    user = str
    project = str


class TraitSources(types.Base):
    """The traits of a node with their sources."""

    traits = [SourcedTrait]
    vetoes = [Veto]


def document(details: Details) -> dict[str, Any]:
    """Return the JSON document of the traits of a node with their sources."""
    return {
        'traits': [
            {
                'trait': name,
                'sources': [{'source': held.writer.source, **_written(held)} for held in holds],
                'vetoed': name in details.vetoes,
            }
            for name, holds in details.traits.items()
        ],
        'vetoes': [{'trait': name, **_written(held)} for name, held in details.vetoes.items()],
    }


def _written(held: ShownHold) -> dict[str, Any]:
    return {'since': held.since, 'user': held.writer.user_id or None, 'project': held.writer.project_id or None}
