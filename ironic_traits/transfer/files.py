"""Documents in files: JSON or YAML."""

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
    """A file with a document.

    :param path: path of a JSON or YAML file; - for stdin.
    :raises OSError: the file cannot be read.
    :raises ValueError: it is neither JSON nor YAML.
    :ivar document: the document, parsed.
    """

    def __init__(self, path):
        self._path = path
        with contextlib.nullcontext(sys.stdin) if path == '-' else open(path) as file:
            self._text = file.read()
        try:
            with contextlib.suppress(json.JSONDecodeError):
                self.document = json.loads(self._text)
                return
            self.document = yaml.load(self._text, Loader=Loader)  # noqa: S506, it is a safe loader
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error

    def sentences(self, problems):
        """Return a sentence for each problem of the document, with its line number.

        :param problems: [ironic_traits.transfer.documents.Problem, …].
        """
        root = self._tree()
        return [f'{self._path}, line {_line(root, problem.where)}: {problem}' for problem in problems]

    def _tree(self):
        # JSON is a subset of YAML, apart from tabs.
        with contextlib.suppress(yaml.YAMLError):
            return yaml.compose(self._text.replace('\t', ' '), Loader=Loader)
        return None


def _line(node, where):
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


def read(path):
    """Return the document in a file; arguments and errors as for ``Source``."""
    return Source(path).document


def check_free(path, force):
    """Raise FileExistsError if a file exists that must not be overwritten.

    :param path: argument of ``write``; stdout (-) and devices can always be written to.
    :param force: whether an existing file may be overwritten.
    """
    if not force and path != '-' and os.path.isfile(path):
        raise FileExistsError(errno.EEXIST, 'The file exists; --force overwrites it', path)


def write(document, path):
    """Write a document to a file.  Only its owner can read it, because it may hold passwords of machines.

    :param path: path of the file, JSON if it ends in .json, else YAML; - for stdout.
    :raises OSError: the file cannot be written.
    """
    as_json = path.endswith('.json')
    text = json.dumps(document, indent=2) + '\n' if as_json else yaml.dump(document, Dumper=Dumper, sort_keys=False)
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


class Dumper(yaml.CSafeDumper):
    """A dumper that writes equal values in full each time, without YAML's anchors and aliases."""

    def ignore_aliases(self, data):
        return True


class Loader(yaml.CSafeLoader):
    """A loader that recognizes only JSON's numbers, and no dates.

    YAML 1.1 would read some MAC addresses as numbers to the base of 60.
    """

    yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0].rpartition(':')[2] not in ('int', 'float', 'timestamp')]
        for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


for _tag, _pattern in (('int', r'-?(0|[1-9][0-9]*)\Z'), ('float', r'-?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?\Z')):
    # The dumper needs the loader's rules, too: it must quote strings that the loader would read as numbers.
    for _class in (Loader, Dumper):
        _class.add_implicit_resolver(f'tag:yaml.org,2002:{_tag}', re.compile(_pattern), list('-0123456789'))
