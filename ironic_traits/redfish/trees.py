"""Trees of Redfish documents, and what may be wrong in them."""

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

ROOT = '/redfish/v1'
#: Maximum number of documents that one inspection reads, of members of a collection, and of pages of a collection.
MAX_DOCUMENTS, MAX_MEMBERS, MAX_PAGES = 1500, 1000, 50
#: Maximum number of links that one inspection follows.
MAX_STEPS = 50_000
#: Maximum number of characters of a text.
MAX_TEXT = 255
#: What BMCs show instead of nothing.
_PLACEHOLDERS = ('', 'n/a', 'none', 'null', 'not available', 'not specified', 'unknown', 'undefined', 'default string')
#: Maximum number of problems that a part names.
MAX_PROBLEMS = 3


class Unreadable(Exception):
    """A document that cannot be read. The text is a sentence."""


class Unimplemented(Unreadable):
    """A document that a BMC links to, and does not implement (501)."""


class Tree(Protocol):
    """What a BMC answers to GET."""

    def get(self, path: str) -> Mapping[str, Any]:
        """Return the document of a path.

        :raises Unreadable: there is none, or it is no JSON object.
        """
        ...


class DirectoryTree:
    """Documents in a directory, as Redfish mockups have them: ``index.json`` in a directory for each path."""

    def __init__(self, directory: pathlib.Path) -> None:
        below = directory / ROOT.strip('/')
        root = below if (below / 'index.json').is_file() or not (directory / 'index.json').is_file() else directory
        self._files = {self._key(str(file.parent.relative_to(root))): file for file in root.rglob('index.json')}
        # Some BMCs ignore capitals in paths, and their documents link to other spellings of their own paths.
        self._spellings = {key.lower(): file for key, file in sorted(self._files.items(), reverse=True)}

    def get(self, path: str) -> Mapping[str, Any]:
        """Return the document of a path."""
        key = self._key(path)
        file = self._files.get(key) or self._spellings.get(key.lower())
        if file is None:
            raise Unreadable(f'There is no document {path[:200]!r}.')
        try:
            document = json.loads(file.read_bytes())
        except (ValueError, OSError, RecursionError):
            raise Unreadable(f'The document {path[:200]!r} is no JSON.') from None
        if not isinstance(document, dict):
            raise Unreadable(f'The document {path[:200]!r} is no object.')
        return document

    @staticmethod
    def _key(path: str) -> str:
        return path.partition('#')[0].removeprefix(ROOT).strip('./')


class Reader:
    """Reads each document of a tree once, and not more than a maximum.

    :ivar problems: sentences about the members that could not be read since :meth:`begin_part`.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._read: dict[str, Mapping[str, Any] | str] = {}
        self.problems: list[str] = []
        #: Number of links that were followed, also those to documents that were read before.
        self._steps = 0

    def begin_part(self) -> None:
        """Forget the problems of other parts."""
        self.problems = []

    def get(self, path: str) -> Mapping[str, Any]:
        """Return the document of a path.

        :raises Unreadable: there is none, or too many have been read.
        """
        key = path.partition('#')[0].rstrip('/')
        if not f'{key}/'.startswith(f'{ROOT}/'):
            raise Unreadable(f'A link of the BMC leads elsewhere: {path[:200]!r}.')
        if key not in self._read:
            if len(self._read) >= MAX_DOCUMENTS:
                raise Unreadable(f'The BMC has more than {MAX_DOCUMENTS} documents.')
            try:
                document = self._tree.get(key)
                # Some BMCs answer 200 with an error.
                self._read[key] = f'The BMC refuses {key[:200]!r}.' if document.keys() == {'error'} else document
            except Unreadable as error:
                self._read[key] = str(error)
        found = self._read[key]
        if isinstance(found, str):
            raise Unreadable(found)
        return found

    def each(self, links: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the path and the document of each link, once. Problems with a document do not stop it.

        :raises Unreadable: too many links have been followed.
        """
        seen = set()
        for item in objects(links)[:MAX_MEMBERS]:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise Unreadable(f'The BMC has more than {MAX_STEPS} links.')
            path = text(item, '@odata.id')
            if path and path in seen:
                continue
            seen.add(path)
            if len(item) > 1 and item.keys() - {'@odata.id', 'href'}:  # an expanded collection
                yield path, item
            elif path:
                try:
                    yield path, self.get(path)
                except Unreadable as error:
                    self._note(str(error))

    def members(self, document: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the path and the document of each member of the collection to which a property links.

        A property may also be a list of links. Without the property there are no members.

        :raises Unreadable: the collection cannot be read.
        """
        if isinstance(document.get(name), list):
            for path, each in self.each(document[name]):
                # iLO 5 has lists with one link, to a collection.
                yield from self.each(each['Members']) if 'Members' in each else [(path, each)]
            return
        path, pages = link(document, name), set[str]()
        found: list[Any] = []
        while path and path not in pages and len(pages) < MAX_PAGES and len(found) < MAX_MEMBERS:
            pages.add(path)
            page = self.get(path)
            found += objects(page.get('Members'))
            path = text(page, 'Members@odata.nextLink')
        if path:
            self._note(f'The collection {name!r} does not end.')
        yield from self.each(found)

    def _note(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; [] for another type of value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def inner(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an object inside a document; {} if there is none."""
    for name in names:
        value = document.get(name)
        if not isinstance(value, dict):
            return {}
        document = value
    return document


def text(document: Mapping[str, Any], *names: str) -> str:
    """Return the first of the properties that is text, without spaces around it; '' if none is."""
    for name in names:
        value = document.get(name)
        found = printable(value) if isinstance(value, str) else ''
        if found.lower() not in _PLACEHOLDERS and not found.lower().startswith('to be filled by'):
            return found
    return ''


def printable(value: str, most: int = MAX_TEXT) -> str:
    """Return text without what databases refuse, such as NUL and half characters.

    :param most: maximum number of characters.
    """
    return ''.join(each for each in value[:most] if each.isprintable()).strip()


def number(document: Mapping[str, Any], *names: str) -> int:
    """Return the first of the properties that is a positive number; 0 if none is."""
    for name in names:
        value = document.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53:
            return int(value)
    return 0


def link(document: Mapping[str, Any], name: str) -> str:
    """Return the path to which a property links; '' if there is none."""
    return text(inner(document, name), '@odata.id')


def is_there(document: Mapping[str, Any]) -> bool:
    """Whether a document is about something that is plugged in."""
    return text(inner(document, 'Status'), 'State') != 'Absent'
