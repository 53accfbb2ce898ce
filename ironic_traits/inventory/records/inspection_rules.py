"""Inspection rules: stored rules, rules in files, and the standard rules."""

import datetime
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg

from ironic_traits import resources
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.matching.rules import inspection_rules, rule_files, rule_warnings
from ironic_traits.matching.rules.inspection_rules import InvalidRules, Rule

LOG = logging.getLogger(__name__)

_TABLE = tables.inspection_rules
_IS_SENSITIVE = _TABLE.c.sensitive.is_(sa.true())


def _unless_sensitive(column: sa.Column[Any]) -> sa.Label[str]:
    """Return the column of a JSON field as text: "null" for sensitive rules."""
    return sa.case((_IS_SENSITIVE, sa.literal('null')), else_=sa.type_coerce(column, sa.Text)).label(column.name)


INSPECTION_RULES = Kind(
    resource=resources.INSPECTION_RULES,
    duplicates={'name': 'with name {name}'},
    computed={name: _unless_sensitive(_TABLE.c[name]) for name in ('conditions', 'actions')},
    noun='rule',
)

#: A stored rule as it was at some time: its uuid, and when it was created and changed.
_Version = tuple[str, datetime.datetime, datetime.datetime | None]


class RuleCache:
    """The rules that a process has parsed. ``service.Service`` has one.

    :param built_in: the result of ``built_in``.
    :ivar built_in: {name: rule} of the rules that are not stored.
    :ivar reserved: names that stored rules cannot have.
    """

    def __init__(self, built_in: Iterable[Rule]) -> None:
        self.built_in: Mapping[str, Rule] = {rule.name: rule for rule in built_in}
        self.reserved = self.built_in.keys() | {rule.name for rule in inspection_rules.standard()}
        self._stored: dict[_Version, Rule | None] = {}

    def stored(self, connection: sa.Connection) -> list[Rule]:
        """Return the stored rules that are in force. Each version of a rule is parsed once."""
        columns = (_TABLE.c.uuid, _TABLE.c.created_at, _TABLE.c.updated_at)
        versions = [tuple(row) for row in connection.execute(sa.select(*columns))]
        known = self._stored
        rules = {version: known[version] for version in versions if version in known}
        unknown = [version[0] for version in versions if version not in known]
        if unknown:
            # If a rule has changed since the first statement, its newest version is in force.
            for row in connection.execute(sa.select(_TABLE).where(_TABLE.c.uuid.in_(unknown))):
                rules[row.uuid, row.created_at, row.updated_at] = self._parsed(row)
        # This drops versions of rules that were changed or deleted.
        self._stored = rules
        return [rule for rule in rules.values() if rule is not None]

    def _parsed(self, row: sa.Row) -> Rule | None:
        """Return a stored rule; None if it cannot be in force."""
        try:
            return self._rule(row)
        except InvalidRules as error:
            LOG.error('The stored inspection rule %s is not in force: %s', row.name or row.uuid, error)
            return None

    def _rule(self, row: sa.Row) -> Rule:
        """Return a stored rule.

        :raises InvalidRules: the rule is invalid, because an older release or another program stored it; or a file has
            a rule of the same name.
        """
        rule = parsed(row._asdict())
        if rule.name in self.built_in:
            raise InvalidRules(['a file has a rule of the same name'])
        return rule

    def problems(self, connection: sa.Connection) -> dict[str, str]:
        """Return the stored rules that cannot be in force, {name or uuid: why}."""
        problems = {}
        for row in connection.execute(sa.select(_TABLE).order_by(_TABLE.c.id)):
            try:
                self._rule(row)
            except InvalidRules as error:
                problems[row.name or row.uuid] = str(error)
        return problems


def built_in(conf: cfg.ConfigOpts) -> list[Rule]:
    """Return the rules in the files of the configuration, and the standard rules if it has them.

    :raises oslo_config.cfg.Error: a file cannot be used. The message names all problems and their files.
    """
    try:
        rules = rule_files.read_directories(conf.inspection.rules_dirs)
    except InvalidRules as error:
        raise cfg.Error(f'[inspection] rules_dirs: {error}') from error
    standard = inspection_rules.standard()
    names = {rule.name for rule in standard}
    if taken := sorted(rule.name for rule in rules if rule.name in names):
        raise cfg.Error(f'[inspection] rules_dirs: standard rules have the names {", ".join(taken)}')
    return [*rules, *(standard if conf.inspection.standard_rules else ())]


def parsed(values: Mapping[str, Any]) -> Rule:
    """Return the rule of a record.

    :param values: {field: value}; other keys are ignored.
    :raises InvalidRules: the rule is invalid.
    """
    names = ('name', 'uuid', 'description', 'priority', 'phase', 'sensitive', 'conditions', 'actions')
    return inspection_rules.rule({name: values[name] for name in names if values.get(name) is not None})


def in_force(service: Any, connection: sa.Connection) -> list[Rule]:
    """Return the rules that run on inspected nodes: stored rules, rules in files, and standard rules.

    The source of a rule is its name after the prefix ``rule:``. The name of a stored rule without a name is its uuid.
    If a file has a rule of the same name, the rule in the file is in force.

    :param service: ironic_traits.service.Service, or the context of a request.
    :returns: [rule, …] with unique names, in no particular order.
    """
    return [*service.rules.stored(connection), *service.rules.built_in.values()]


def warnings(context: Context, uuid: str) -> list[str]:
    """Return the warnings about a stored rule, [sentence, …]; none if it is sensitive, or was deleted."""
    with context.read() as connection:
        row = connection.execute(sa.select(_TABLE).where(_TABLE.c.uuid == uuid, ~_IS_SENSITIVE)).first()
    return rule_warnings.warnings(parsed(row._asdict())) if row else []
