"""A document in a file: JSON or YAML."""

import contextlib
import errno
import json
import os
import re
import sys
import tempfile

import yaml
from oslo_utils import fileutils


class Source:
    """A document as it stands in a file.

    :param path: of JSON or YAML; - for stdin.
    :raises OSError: it cannot be read.
    :raises ValueError: it is neither.
    :ivar document: what is in it.
    """

    def __init__(self, path):
        self._path = path
        with contextlib.nullcontext(sys.stdin) if path == '-' else open(path) as file:
            self._text = file.read()
        try:
            with contextlib.suppress(json.JSONDecodeError):
                self.document = json.loads(self._text)
                return
            self.document = yaml.load(self._text, Loader=_Loader)  # noqa: S506, it is a safe loader
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error

    def sentences(self, problems):
        """Return a sentence for each problem of the document, with the line where it is.

        :param problems: [ironic_traits.transfer.documents.Problem, …].
        """
        top = self._tree()
        return [f'{self._path}, line {_line(top, problem.where)}: {problem}' for problem in problems]

    def _tree(self):
        # JSON is YAML, but for tabs.
        with contextlib.suppress(yaml.YAMLError):
            return yaml.compose(self._text.replace('\t', ' '), Loader=_Loader)
        return None


def _line(node, where):
    """Return the line of a key or an item; that of what it is in when it cannot be found.

    :param node: of YAML, the top of the document; None for an empty one.
    :param where: the keys and positions that lead to it.
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


def read(path):
    """Return the document in a file; as ``Source``."""
    return Source(path).document


def check_free(path, force):
    """Raise FileExistsError when a file exists that must not be overwritten.

    :param path: where ``write`` will write; - and devices are always free.
    :param force: whether a file may be overwritten.
    """
    if not force and path != '-' and os.path.isfile(path):
        raise FileExistsError(errno.EEXIST, 'The file exists; --force overwrites it', path)


def write(document, path):
    """Write a document to a file that nobody but its owner reads: the passwords of machines may be in it.

    :param path: JSON when it ends in .json, else YAML; - for stdout.
    :raises OSError: it cannot be written.
    """
    as_json = path.endswith('.json')
    text = json.dumps(document, indent=2) + '\n' if as_json else yaml.dump(document, Dumper=_Dumper, sort_keys=False)
    if path == '-':
        print(text, end='')
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, 'w') as device:
            device.write(text)
        return
    # What was there before stays until all is written.
    descriptor, written = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)))
    with fileutils.remove_path_on_error(written):
        with open(descriptor, 'w') as file:
            file.write(text)
        os.rename(written, path)


class _Dumper(yaml.CSafeDumper):
    """Says all of everything: nothing of a document stands for something else in it."""

    def ignore_aliases(self, data):
        return True


class _Loader(yaml.CSafeLoader):
    """Reads YAML whose numbers are those of JSON: a MAC address is none to the base of 60, and no text is a date."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag.rpartition(':')[2] not in ('int', 'float', 'timestamp')]
        for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


for _tag, _pattern in (('int', r'-?(0|[1-9][0-9]*)\Z'), ('float', r'-?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?\Z')):
    # What is written knows what is read: texts that look like numbers are quoted, by the rules of both.
    for _one in (_Loader, _Dumper):
        _one.add_implicit_resolver(f'tag:yaml.org,2002:{_tag}', re.compile(_pattern), list('-0123456789'))
