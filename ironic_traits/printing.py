"""Texts for people."""

import sys
from typing import Any


def printable(text: str) -> str:
    """Return a text without control characters: inventories may contain those that change the terminal."""
    return text if text.isprintable() else ''.join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def escape_output() -> None:
    """Escape control characters in all that this process prints from now on, in tracebacks, too.

    JSON and YAML have no such characters: both escape them. A progress bar moves the cursor: it uses sys.__stderr__.
    """
    sys.stdout, sys.stderr = escaped(sys.stdout), escaped(sys.stderr)


def escaped(stream: Any) -> Any:
    """Return a stream that escapes control characters in what is printed to another one, apart from the ends of lines.

    :param stream: a text stream; one that escapes already is returned itself.
    """
    return stream if isinstance(stream, _Escaped) else _Escaped(stream)


class _Escaped:
    """A text stream that escapes control characters."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text. Lines and columns remain."""
        self._stream.write('\n'.join('\t'.join(map(printable, line.split('\t'))) for line in text.split('\n')))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts."""
        self.write(''.join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def count(number: int, noun: str = 'node') -> str:
    """Return a number of things as text, such as '1 node' or '2 nodes'."""
    return f'{number} {noun}{"" if number == 1 else "s"}'
