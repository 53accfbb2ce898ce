"""A document in a file: JSON or YAML."""

import contextlib
import json
import os
import re
import sys
import tempfile

import yaml
from oslo_utils import fileutils


def read(path):
    """Give the document in a file.

    :param path: of JSON or YAML; - for stdin.
    :raises OSError: it cannot be read.
    :raises ValueError: it is neither.
    """
    try:
        with contextlib.nullcontext(sys.stdin) if path == '-' else open(path) as file:
            text = file.read()
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506, it is a safe loader
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
