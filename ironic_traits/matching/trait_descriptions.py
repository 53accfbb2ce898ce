r"""Descriptions of the standard traits: the comments in the sources of the installed os-traits.

os-traits has no other documentation of its traits. A comment above traits describes all of them up to the next comment
or empty line; one behind a trait describes that trait:

>>> comments('''
... TRAITS = [
...     # ref: https://example.org/avx
...     'AVX512F',  # foundation
...     'AVX512CD',
...
...     'SHA',
... ]
... ''')
{'AVX512F': 'foundation\nref: https://example.org/avx', 'AVX512CD': 'ref: https://example.org/avx'}
"""

import functools
import inspect
import io
import logging
import re
import sys
import tokenize
from collections.abc import Mapping, Sequence

import os_traits

from ironic_traits.matching.traits import STANDARD

LOG = logging.getLogger(__name__)

#: A mark for the linters of os-traits.
_NOQA = re.compile(r'\s*#\s*noqa\b.*')
#: The end of a line within a paragraph, and of one within a URL.
_LINE_END = re.compile(r'(?<!\n)\n(?!\n|ref:|NOTE\()')
_SLASH = re.compile(r'(?<=\S)/\n(?=\S)')


@functools.cache
def standard() -> Mapping[str, str]:
    """Return the descriptions of the standard traits that have one, {name: text}.

    Without the sources of os-traits, there are none.
    """
    descriptions: dict[str, str] = {}
    for path, module in sorted(sys.modules.items()):
        # os-traits imports all its modules with traits.
        if path.startswith(f'{os_traits.__name__}.') and hasattr(module, 'TRAITS'):
            try:
                texts = comments(inspect.getsource(module))
            except (OSError, TypeError, SyntaxError, tokenize.TokenError) as error:
                LOG.info('The traits of %s have no descriptions: its source cannot be read: %s', path, error)
                continue
            prefix = '_'.join(path.upper().split('.')[1:])
            descriptions |= {f'{prefix}_{leaf.upper()}': text for leaf, text in texts.items()}
    return {name: text for name, text in descriptions.items() if name in STANDARD}


def comments(source: str) -> dict[str, str]:
    """Return the comments on the items of the list TRAITS in a module's source, {item: text}.

    :param source: Python source.
    :raises SyntaxError: it is not Python source.
    :raises tokenize.TokenError: it ends within the list.
    """
    reader = _Reader()
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for token in tokens:
        if token.type == tokenize.NAME and token.string == 'TRAITS' and token.start[1] == 0:
            break
    for token in tokens:
        if token.type == tokenize.OP and token.string == ']':
            break
        reader.read(token)
    return {item: text for item in reader.items if (text := reader.description(item))}


class _Reader:
    """The items of the list that have been read, with their comments.

    :ivar items: {item: the lines of the comment above it}.
    """

    def __init__(self) -> None:
        self.items: dict[str, Sequence[str]] = {}
        self._behind: dict[str, str] = {}
        self._above: list[str] = []
        # The row of the last item, and whether the comment above has got an item yet.
        self._row, self._is_used = 0, False

    def read(self, token: tokenize.TokenInfo) -> None:
        """Read a token of the list."""
        if token.type == tokenize.STRING:
            # The items are plain strings. ast.literal_eval can fail in a process with threads (CPython 3.11).
            self.items[token.string.strip('\'"')] = self._above
            self._row, self._is_used = token.start[0], True
        elif token.type == tokenize.COMMENT and token.start[0] == self._row:
            self._behind[next(reversed(self.items))] = _text(token)
        elif token.type == tokenize.COMMENT:
            self._end_group()
            self._above.append(_text(token))
        elif token.type == tokenize.NL and not token.line.strip():
            self._end_group()

    def _end_group(self) -> None:
        """Forget the comment above if it has got its items."""
        if self._is_used:
            self._above, self._is_used = [], False

    def description(self, item: str) -> str:
        """Return the description of an item; '' if it has none."""
        above = _LINE_END.sub(' ', _SLASH.sub('/', '\n'.join(self.items[item])))
        return '\n'.join(text for text in (self._behind.get(item), above.strip()) if text)


def _text(token: tokenize.TokenInfo) -> str:
    return ' '.join(_NOQA.sub('', token.string.removeprefix('#')).split())
