"""Predicates of rows of differences."""

import re

_ANY = object()


def _matches(expected, value):
    return expected is _ANY or (value in expected if isinstance(expected, tuple) else expected == value)


def has(path, theirs=_ANY, ours=_ANY, operation='', when=lambda difference: True):
    """Return a predicate of differences in a value.

    :param path: regular expression for the path of the value.
    :param theirs: the value of the real service, or a tuple of values.
    :param operation: regular expression for the operation.
    """

    def explains(difference):
        return bool(
            re.search(path, difference.path)
            and re.search(operation, difference.operation)
            and _matches(theirs, difference.theirs)
            and _matches(ours, difference.ours)
            and when(difference)
        )

    return explains


def status(theirs, ours, operation='', words='', when=lambda difference: True):
    """Return a predicate of differences in the status.

    :param words: regular expression for one of the messages.
    """

    def has_words(difference):
        messages = (difference.message(side) for side in (0, 1) if difference.calls[side]['status'] >= 400)
        return any(re.search(words, each) for each in messages) and when(difference)

    return has('^status$', theirs, ours, operation, has_words)


def fails(ours, words):
    """Return a predicate of differences in the status, if this service fails with words."""
    return has('^status$', ours=ours, when=lambda difference: re.search(words, difference.message(1)))
