"""The digest of inspection rules and of the nodes that they are to run on. It guards the execution of a preview."""

import datetime
import hashlib
from collections.abc import Iterable

import orjson

from ironic_traits.matching.rules.inspection_rules import Rule

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def digest(rules: Iterable[Rule]) -> str:
    """Return the digest of rules. Their order does not count."""
    ordered = sorted(rules, key=lambda rule: rule.name)
    # Files in YAML may have values that JSON does not have.
    return hashlib.sha256(orjson.dumps(ordered, default=repr, option=_OPTIONS)).hexdigest()


def run_digest(rules: str, nodes: Iterable[tuple[str, datetime.datetime | None]]) -> str:
    """Return the digest of rules and nodes.

    It does not depend on the traits of the nodes: it stays the same while the rules run on one node after another.

    :param rules: the result of ``digest``.
    :param nodes: [(uuid, when the data of its inspection was stored; None without), …].
    """
    result = hashlib.sha256(rules.encode())
    for node in nodes:
        result.update(orjson.dumps(node))
    return result.hexdigest()
