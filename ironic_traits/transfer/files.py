"""A document in a file: JSON or YAML."""

import contextlib
import json
import os
import re
import sys

import yaml


def read(path):
    """Give the document in a file.

    :param path: of JSON or YAML; - for stdin.
    :raises OSError: it cannot be read.
    :raises ValueError: it is neither.
    """
    try:
        with contextlib.nullcontext(sys.stdin) if path == '-' else open(path) as file:
            return yaml.load(file, Loader=_Loader)  # noqa: S506, it is a safe loader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


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
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w') as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)


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
    _Loader.add_implicit_resolver(f'tag:yaml.org,2002:{_tag}', re.compile(_pattern), list('-0123456789'))
