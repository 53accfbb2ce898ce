"""The traits that a node had at a past time: the present ones, with what has changed since undone."""

from collections.abc import Collection, Iterable
from typing import NamedTuple


class TraitWrite(NamedTuple):
    """A write of traits.

    :ivar added: the traits that the node did not have before.
    :ivar removed: the traits that the node has no longer.
    """

    added: Collection[str]
    removed: Collection[str]


def before(present: Iterable[str], changes: Iterable[TraitWrite]) -> set[str]:
    """Return the traits that a node had before some changes.

    >>> changes = [TraitWrite(['CUSTOM_C'], []), TraitWrite(['CUSTOM_A'], ['CUSTOM_B'])]
    >>> sorted(before(['CUSTOM_A', 'CUSTOM_C'], changes))
    ['CUSTOM_B']

    :param present: the traits after the changes.
    :param changes: [TraitWrite, …], the newest first.
    """
    traits = set(present)
    for change in changes:
        traits.difference_update(change.added)
        traits.update(change.removed)
    return traits
