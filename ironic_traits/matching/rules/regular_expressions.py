"""Regular expressions whose time is bounded: RE2's, which never backtrack.

RE2 has neither look-ahead nor look-behind nor back-references. Its time is at most the length of the text times the
size of the compiled expression.
"""

import functools
from typing import Any

import re2

#: Maximum number of characters of an expression, and of instructions of what it is compiled to.
MAX_LENGTH, MAX_SIZE = 500, 5000


class InvalidExpression(ValueError):
    """A text that is not a regular expression, or an expression that is too large."""


@functools.lru_cache(256)
def compiled(text: str) -> Any:
    """Return a compiled expression.

    :raises InvalidExpression: it cannot be compiled.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidExpression(f'the regular expression is longer than {MAX_LENGTH} characters')
    options = re2.Options()
    options.log_errors, options.never_capture = False, True
    try:
        expression = re2.compile(_encodable(text), options)
    except re2.error as error:
        reason = error.args[0].decode('utf-8', 'replace') if isinstance(error.args[0], bytes) else str(error)
        raise InvalidExpression(f'invalid regular expression {text!r}: {reason}') from None
    if cost(expression, '') > MAX_SIZE:
        raise InvalidExpression(f'the regular expression {text!r} is too large: use smaller repetitions')
    return expression


def cost(expression: Any, text: str) -> int:
    """Return the most steps that matching a text takes."""
    return max(expression.programsize, expression.reverseprogramsize) * (len(text) + 1)


def matches(expression: Any, text: str) -> bool:
    """Whether an expression matches a whole text."""
    return expression.fullmatch(_encodable(text)) is not None


def contains(expression: Any, text: str) -> bool:
    """Whether an expression matches a part of a text."""
    return expression.search(_encodable(text)) is not None


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, which JSON can contain and UTF-8 cannot."""
    return text.encode('utf-8', 'replace').decode()
