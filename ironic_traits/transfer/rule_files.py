"""Files with inspection rules, and files with the data of inspections."""

import pathlib
import re
import sys
from typing import Any

import orjson
import yaml

from ironic_traits.matching import facts, inspection_rules, rule_evaluation
from ironic_traits.matching.inspection_rules import InvalidRules, Rule
from ironic_traits.matching.rule_evaluation import InvalidInventory
from ironic_traits.transfer import files

#: Most bytes of a file with rules, of a file with inspection data, and how deep YAML may be nested.
MAX_RULES_SIZE, MAX_INVENTORY_SIZE, MAX_DEPTH = 2**20, 16 * 2**20, 50


def read_rules(path: str) -> list[Rule]:
    """Return the rules in a file. Their names begin with the file's: gold.yaml has gold.RULE.

    :raises OSError: the file cannot be read.
    :raises InvalidRules: it does not contain rules.
    """
    stem = '' if path == '-' else re.sub('[^A-Za-z0-9_-]+', '-', pathlib.Path(path).stem)
    return inspection_rules.parse(read_document(path), f'{stem}.' if stem else '')


def read_document(path: str) -> Any:
    """Return the JSON or YAML document in a file.

    :raises OSError: the file cannot be read.
    :raises InvalidRules: it is neither, or too large.
    """
    data = _read(path, MAX_RULES_SIZE)
    if len(data) > MAX_RULES_SIZE:
        raise InvalidRules([f'the file is larger than {MAX_RULES_SIZE} bytes'])
    try:
        text = data.decode()
        _check_depth(text)
        return yaml.load(text, Loader=files.Loader)  # noqa: S506, it is a safe loader
    except (ValueError, yaml.YAMLError) as error:
        raise InvalidRules([' '.join(str(error).split())]) from error


def _check_depth(text: str) -> None:
    """Raise ValueError if YAML is nested too deeply: the parser would use up the stack of the process."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f'the file is nested deeper than {MAX_DEPTH}')


def read_inventory(path: str, node: Any = None) -> facts.Facts:
    """Return the facts in a file with inspection data, JSON.

    :param node: fields of the node.
    :raises OSError: the file cannot be read.
    :raises InvalidInventory: it does not contain inspection data.
    """
    return rule_evaluation.facts_of(read_json(path), node)


def read_json(path: str) -> Any:
    """Return the JSON document in a file.

    :raises OSError: the file cannot be read.
    :raises InvalidInventory: it is not JSON, or too large.
    """
    data = _read(path, MAX_INVENTORY_SIZE)
    if len(data) > MAX_INVENTORY_SIZE:
        raise InvalidInventory(f'the file is larger than {MAX_INVENTORY_SIZE} bytes')
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidInventory(f'it is not JSON: {error}') from error


def _read(path: str, limit: int) -> bytes:
    """Return at most one byte more than the limit."""
    if path == '-':
        return sys.stdin.buffer.read(limit + 1)
    with open(path, 'rb') as file:
        return file.read(limit + 1)
