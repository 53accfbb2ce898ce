"""The question "Did you mean …?" in messages about unknown names."""

import difflib
from collections.abc import Collection, Iterable

#: Maximum number of unknown names, and of characters of each, that are compared: requests may have very many.
_MOST, _LONGEST = 3, 100
#: Minimum length of a name that is looked for inside of the others.
_SHORTEST = 4


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the one of the names that is most similar to another one; None if none is similar.

    :param cutoff: how similar it must be, from 0 to 1.
    """
    close = difflib.get_close_matches(name[:_LONGEST], names, 1, cutoff)
    return close[0] if close else None


def hint(unknown: str | Iterable[str], names: Collection[str]) -> str:
    """Return the sentence that names what a client may have meant, with a space before it; '' if nothing is similar.

    :param unknown: an unknown name, or several.
    :param names: the names that are allowed.
    """
    each = [unknown] if isinstance(unknown, str) else list(unknown)[:_MOST]
    return question(*filter(None, (nearest(name, names) or _longer(name, names) for name in each if name not in names)))


def question(*meant: str) -> str:
    """Return " Did you mean 'X'?" for one or several names; '' for none."""
    return f' Did you mean {", ".join(f"{name!r}" for name in dict.fromkeys(meant))}?' if meant else ''


def _longer(name: str, names: Iterable[str]) -> str | None:
    """Return a name that has another one inside: "provision_state" for "state"."""
    return next((each for each in sorted(names) if name in each), None) if len(name) >= _SHORTEST else None
