"""Files that name BMCs: lines with addresses, or objects in YAML or JSON with the names of Ironic."""

import contextlib
import re
import sys
from typing import Any

import yaml

from ironic_traits import spelling, yaml_documents
from ironic_traits.redfish import bmcs

#: What an object may have.
NAMES = tuple(f'redfish_{name}' for name in ('address', 'username', 'password', 'verify_ca', 'system_id', 'auth_type'))
_COMMENT = re.compile(r'(?:^|\s)#.*')


class BadFile(ValueError):
    """A file that cannot be used. The text has a sentence a line."""


def read(path: str) -> list[dict[str, Any]]:
    """Return the ``driver_info`` of each BMC that a file names.

    :param path: path of the file; - for stdin.
    :raises BadFile: it cannot be read, names no BMC, or an entry is invalid.
    """
    try:
        with contextlib.nullcontext(sys.stdin) if path == '-' else open(path) as file:
            entries = _entries(file.read())
    except OSError as error:
        raise BadFile(f'{path}: {error.strerror}.') from None
    except (ValueError, yaml.YAMLError) as error:
        raise BadFile(f'{path}: {" ".join(str(error).split())}') from None
    if not isinstance(entries, list) or not entries:
        raise BadFile(f'{path}: It must have a line for the address of each BMC, or a list of objects in YAML.')
    problems = {number: _problem(each) for number, each in enumerate(entries, 1)}
    if any(problems.values()):
        raise BadFile('\n'.join(f'{path}, entry {number}: {each}' for number, each in problems.items() if each))
    return entries


def _entries(text: str) -> Any:
    lines = [line for each in text.splitlines() if (line := _COMMENT.sub('', each).strip())]
    if any(re.match(r'[-\[{]|redfish_\w+:', line) for line in lines[:1]):
        return yaml_documents.load(text)
    return [{'redfish_address': line} for line in lines]


def _problem(entry: Any) -> str:
    """Return what is wrong with an entry; '' if nothing is."""
    if not isinstance(entry, dict):
        return 'It must be an object, as {redfish_address: 10.0.0.5}.'
    if unknown := sorted(str(name) for name in entry if name not in NAMES):
        return f'Unknown: {", ".join(unknown)}.{spelling.hint(unknown, NAMES)}'
    try:
        bmcs.access(entry)
    except bmcs.Failure as error:
        return str(error).replace(' in driver_info', '')
    return ''
