"""Which names are traits, and what a list of trait filters asks for."""

import dataclasses
import difflib
import re

import os_traits

#: The names that os-traits ships.
STANDARD = frozenset(os_traits.get_traits())

_CUSTOM = re.compile(r'CUSTOM_[A-Z0-9_]+')
_WELL_FORMED = re.compile(r'[A-Z0-9_]{1,255}')
MAX_LENGTH = 255
#: Most names in one request, and most sets of which one will do: each costs the database a subquery.
MAX_NAMES = 200
MAX_ANY_OF = 10


def is_trait(name):
    """Tell whether a node may carry this name: one of os-traits, or CUSTOM_ and more, 255 characters at most."""
    return name in STANDARD or (len(name) <= MAX_LENGTH and _CUSTOM.fullmatch(name) is not None)


def is_well_formed(name):
    """Tell whether a filter may ask for this name, known or not."""
    return _WELL_FORMED.fullmatch(name) is not None


def nearest(name):
    """Return the trait that this near miss may have meant; None when nothing is near."""
    upper = re.sub(r'[^A-Z0-9_]', '_', name[:MAX_LENGTH].strip().upper())
    if is_trait(upper):
        return upper
    close = difflib.get_close_matches(upper, STANDARD, n=1, cutoff=0.85)
    return close[0] if close else None


@dataclasses.dataclass(frozen=True)
class Filter:
    """The four list filters of the node-traits specification, each of them repeatable (repeated = AND).

    :ivar all_of: every one of these (``traits``).
    :ivar any_of: of each of these sets at least one (``traits-any``).
    :ivar not_all_of: of each of these sets at least one is missing (``not-traits``).
    :ivar none_of: not one of these (``not-traits-any``).
    """

    all_of: frozenset = frozenset()
    any_of: tuple = ()
    not_all_of: tuple = ()
    none_of: frozenset = frozenset()

    @classmethod
    def of(cls, traits=(), traits_any=(), not_traits=(), not_traits_any=()):
        """Make a filter of lists of sets, one set for each time that an argument was given."""
        # Any of one is all of it, not all of one is none of it: said so, many of them are one condition.
        return cls(
            all_of=frozenset().union(*traits, *(names for names in traits_any if len(names) == 1)),
            any_of=tuple(names for names in traits_any if len(names) > 1),
            not_all_of=tuple(names for names in not_traits if len(names) > 1),
            none_of=frozenset().union(*not_traits_any, *(names for names in not_traits if len(names) == 1)),
        )

    def matches(self, traits):
        """Tell whether a node with this set of traits is asked for."""
        return (
            self.all_of <= traits
            and all(names & traits for names in self.any_of)
            and not any(names <= traits for names in self.not_all_of)
            and not self.none_of & traits
        )
