"""Failures about traits."""

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_traits import printing, spelling
from ironic_traits.failures.base import Failure, Outdated


class InvalidTrait(Failure):
    """A name that is not allowed as a trait of a node."""

    status = 400
    code = 'baremetal.trait.invalid'
    text = (
        "{where}'{trait}' is not a trait: it must be a name of os-traits, or CUSTOM_ followed by A-Z, 0-9 and _, "
        '255 characters at most.{hint}'
    )

    def __init__(self, trait: str, nearest: str | None = None, where: str | None = None) -> None:
        hint = spelling.question(nearest) if nearest else ''
        super().__init__(trait=trait, hint=hint, where=f'{where}: ' if where else '')


class ConflictingTraits(Failure):
    """A request that both requires and forbids a trait."""

    status = 400
    code = 'baremetal.match.conflict'
    text = '{what} is required by {here} and forbidden by {there}.'


class TooManyTraits(Failure):
    """More traits than a node may have."""

    status = 400
    code = 'baremetal.trait.too_many'
    text = (
        'Could not modify traits for node {node} as it would exceed the maximum number of traits per node '
        '({count} vs. {limit}); the source {source} would add {names}'
    )


class EditExceedsLimit(Failure):
    """An edit of many nodes, some of which would have more traits than a node may have.

    :param nodes: the first of these nodes: [{'uuid': …, 'name': …, 'traits': number}, …].
    """

    status = 400
    code = 'baremetal.trait.too_many'
    text = 'The edit would exceed the maximum number of traits per node ({limit}) on {count}: {names}. Nothing changed.'

    def __init__(self, nodes: Sequence[Mapping[str, Any]], count: int, limit: int, names: str) -> None:
        super().__init__(count=printing.count(count), limit=limit, names=names)
        self.beside = {'nodes': nodes}


class EditForbidden(Failure):
    """Policy does not allow an edit of many nodes for some of them."""

    status = 403
    code = 'baremetal.forbidden'
    text = 'You may not do this with {forbidden} of the {selected} selected nodes ({rule}). Nothing changed.'


class TraitNotFound(Failure):
    """The node does not have the trait."""

    status = 404
    code = 'baremetal.trait.not_found'
    text = "Node {node} doesn't have a trait '{trait}'"


class TraitNotHeld(Failure):
    """The node has the trait, but not from the source of the request."""

    status = 404
    code = 'baremetal.trait.not_held'
    text = "The source '{source}' does not hold the trait '{trait}' on node {node}. Sources that do: {holders}"


class SourceNotFound(Failure):
    """The source of the request holds none of the node's traits."""

    status = 404
    code = 'baremetal.trait.source_not_found'
    text = "The source '{source}' holds no trait of node {node}. Sources that do: {sources}"


class TraitVetoed(Failure):
    """A source other than the operator adds a trait that the operator has removed."""

    status = 409
    code = 'baremetal.trait.vetoed'
    text = (
        "The trait '{trait}' of node {node} is vetoed: an operator removed it. The source '{source}' can add it after "
        'DELETE /v1/nodes/{node}/traits/{trait}/veto, or after an operator has added it.'
    )


class EditOutdated(Outdated):
    """The nodes that an edit selects, or their traits, are not those of the preview."""

    code = 'baremetal.trait.edit_outdated'
    text = (
        'The selected nodes, their traits or the edit have changed since the preview. Nothing changed. Check a new '
        'preview: its digest is {digest}.'
    )


class VetoNotFound(Failure):
    """The node has no veto of the trait."""

    status = 404
    code = 'baremetal.trait.veto_not_found'
    text = "Node {node} has no veto of the trait '{trait}'"


class TraitsNotKnown(Failure):
    """The history of a node begins after the time for which its traits are requested."""

    status = 410
    code = 'baremetal.history.not_known'
    text = 'The traits of node {node} at {at} are not known: its history {begin}.'


class TraitUnknown(Failure):
    """The catalogue has no trait of this name."""

    status = 404
    code = 'baremetal.trait.unknown'
    text = "There is no trait '{trait}': no node has or had it, and it was never described."
