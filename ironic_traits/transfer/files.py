"""Documents in files: JSON or YAML."""

import contextlib
import errno
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

import yaml
from oslo_utils import fileutils

from ironic_traits import yaml_documents
from ironic_traits.transfer.documents import Problem, Where


class InputFile:
    """A file with a document.

    :param path: path of a JSON or YAML file; - for stdin.
    :raises OSError: the file cannot be read.
    :raises ValueError: it is neither JSON nor YAML, or is nested too deep.
    :ivar document: the document, parsed.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with contextlib.nullcontext(sys.stdin) if path == '-' else open(path) as file:
            self._text = file.read()
        try:
            # What is nested too deep for the parser of JSON is refused as YAML.
            with contextlib.suppress(json.JSONDecodeError, RecursionError):
                self.document = json.loads(self._text)
                return
            self.document = yaml_documents.load(self._text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error

    def sentences(self, problems: Iterable[Problem]) -> list[str]:
        """Return a sentence for each problem of the document, with its line number."""
        root = self._tree()
        return [f'{self._path}, line {_line(root, problem.where)}: {problem}' for problem in problems]

    def _tree(self) -> yaml.Node | None:
        # JSON is a subset of YAML, apart from tabs.
        with contextlib.suppress(yaml.YAMLError, ValueError):
            return yaml_documents.compose(self._text.replace('\t', ' '))
        return None


def _line(node: yaml.Node | None, where: Where) -> int:
    """Return the line number of a key or an item; that of the innermost container found, if it is missing.

    :param node: root of the YAML tree; None for an empty document.
    :param where: the keys and indexes that lead to it.
    """
    mark = node.start_mark if node else None
    for step in where:
        if isinstance(node, yaml.MappingNode):
            key, node = next((pair for pair in node.value if pair[0].value == step), (None, None))
            mark = key.start_mark if key else mark
        elif isinstance(node, yaml.SequenceNode):
            node = node.value[step]
            mark = node.start_mark
    return mark.line + 1 if mark else 1


def read(path: str) -> Any:
    """Return the document in a file; arguments and errors as for ``InputFile``."""
    return InputFile(path).document


def check_free(path: str, force: bool) -> None:
    """Raise FileExistsError if a file exists that must not be overwritten.

    :param path: argument of ``write``; stdout (-) and devices can always be written to.
    :param force: whether an existing file may be overwritten.
    """
    if not force and path != '-' and os.path.isfile(path):
        raise FileExistsError(errno.EEXIST, 'The file exists; --force overwrites it', path)


def write(document: Any, path: str) -> None:
    """Write a document to a file. Only its owner can read it, because it may hold passwords of machines.

    :param path: path of the file, JSON if it ends in .json, else YAML; - for stdout.
    :raises OSError: the file cannot be written.
    """
    as_json = path.endswith('.json')
    text = json.dumps(document, indent=2) + '\n' if as_json else yaml_documents.dump(document)
    if path == '-':
        print(text, end='')
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, 'w') as device:
            device.write(text)
        return
    # An existing file stays intact until the new one is complete.
    descriptor, new_path = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)))
    with fileutils.remove_path_on_error(new_path):
        with open(descriptor, 'w') as file:
            file.write(text)
        os.rename(new_path, path)
