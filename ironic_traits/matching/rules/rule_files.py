"""Files with inspection rules, and files with the data of inspections."""

import contextlib
import os
import pathlib
import re
import sys
from collections.abc import Iterable
from typing import Any

import orjson
import yaml

from ironic_traits import yaml_documents
from ironic_traits.matching import facts
from ironic_traits.matching.rules import inspection_rules, rule_evaluation
from ironic_traits.matching.rules.inspection_rules import InvalidRules, Rule
from ironic_traits.matching.rules.rule_evaluation import InvalidInventory

#: Maximum size in bytes of a file with rules, and of a file with inspection data.
MAX_RULES_SIZE, MAX_INVENTORY_SIZE = 2**20, 16 * 2**20
#: How the names of files with rules in a directory end.
_SUFFIXES = ('.yaml', '.json')


def read_directories(paths: Iterable[str]) -> list[Rule]:
    """Return the rules in all files *.yaml and *.json of directories.

    :raises InvalidRules: a directory or a file cannot be read, a file does not contain rules, or two of them have rules
        of the same name. All problems are named, with the files.
    """
    rules: dict[str, Rule] = {}
    problems: list[str] = []
    for path in _files(paths, problems):
        try:
            found = read_rules(path)
        except InvalidRules as error:
            problems += [f'{path}: {problem}' for problem in error.problems]
        else:
            problems += [f'{path}: another file has a rule {rule.name}, too' for rule in found if rule.name in rules]
            rules |= {rule.name: rule for rule in found}
    if problems:
        raise InvalidRules(problems)
    return list(rules.values())


def _files(directories: Iterable[str], problems: list[str]) -> list[str]:
    """Return the paths of the files with rules in directories, sorted within each."""
    paths: list[str] = []
    for directory in directories:
        try:
            names = sorted(os.listdir(directory))
        except OSError as error:
            problems.append(f'{directory}: {error.strerror}')
        else:
            paths += [os.path.join(directory, name) for name in names if name.endswith(_SUFFIXES)]
    return paths


def read_rules(path: str) -> list[Rule]:
    """Return the rules in a file. Their names begin with the file's: gold.yaml has gold.RULE.

    :raises InvalidRules: the file cannot be read, or does not contain rules.
    """
    return inspection_rules.parse(read_document(path), prefix(path))


def prefix(path: str) -> str:
    """Return what the names of the rules in a file begin with; '' for stdin."""
    stem = '' if path == '-' else re.sub('[^A-Za-z0-9_-]+', '-', pathlib.Path(path).stem)
    return f'{stem}.' if stem else ''


def read_document(path: str) -> Any:
    """Return the JSON or YAML document in a file.

    :raises InvalidRules: the file cannot be read, is empty, too large, or neither.
    """
    try:
        document = yaml_documents.load(_read(path, MAX_RULES_SIZE).decode())
    except UnicodeDecodeError as error:
        raise InvalidRules(['the file is not text in UTF-8']) from error
    except (ValueError, yaml.YAMLError) as error:
        raise InvalidRules([' '.join(str(error).split())]) from error
    if document is None:
        raise InvalidRules(['the file is empty'])
    return document


def read_inventory(path: str, node: Any = None) -> facts.NodeFacts:
    """Return the facts in a file with inspection data, JSON.

    :param node: fields of the node.
    :raises InvalidInventory: the file cannot be read, or does not contain inspection data.
    """
    return rule_evaluation.facts_of(read_json(path), node)


def read_json(path: str) -> Any:
    """Return the JSON document in a file.

    :raises InvalidInventory: the file cannot be read, is empty, too large, or not JSON.
    """
    try:
        data = _read(path, MAX_INVENTORY_SIZE)
        if not data.strip():
            raise InvalidInventory('the file is empty')
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidInventory(f'it is not JSON: {error}') from error
    except ValueError as error:
        raise InvalidInventory(str(error)) from error


def _read(path: str, limit: int) -> bytes:
    """Return the content of a file.

    :raises ValueError: it cannot be read, or is larger than the limit in bytes.
    """
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if path == '-' else open(path, 'rb') as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ValueError(error.strerror) from error
    if len(data) > limit:
        raise ValueError(f'the file is larger than {limit} bytes')
    return data
