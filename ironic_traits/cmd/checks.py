"""ironic-traits-status upgrade check: whether this release can use the database and the configuration.

Run it before you start the services of a new release. The exit code is 0 for success, 1 for a warning, and 2 for a
failure that must be fixed first (oslo.upgradecheck, as in other OpenStack services).
"""

import functools
import sys
from collections.abc import Sequence
from typing import Any

import os_resource_classes
import sqlalchemy as sa
from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from ironic_traits import policies
from ironic_traits.cmd import setup
from ironic_traits.db import names, online_migrations, revisions, tables
from ironic_traits.db.engine import Database
from ironic_traits.deploy import drivers
from ironic_traits.inventory.records.inspection_rules import RuleCache, built_in
from ironic_traits.matching.traits import STANDARD

_GOOD = Result(Code.SUCCESS)


class Checks(upgradecheck.UpgradeCommands):
    """The upgrade checks.

    :ivar conf: set once the configuration is read.
    :ivar database: set once it is open.
    """

    conf: cfg.ConfigOpts
    database: Database

    def schema(self) -> Result:
        """Check that the schema is that of this release, or a newer one that this release can use."""
        current, newest = revisions.current(self.database), revisions.newest()
        if current == newest:
            return _GOOD
        if revisions.is_newer(current):
            message = f'The database is at version {current}, which belongs to a newer release.'
            if revisions.is_usable(self.database, current):
                return Result(Code.WARNING, f'{message} This release can use it.')
            return Result(Code.FAILURE, message)
        message = f'The database is at version {current or "none"}, this release needs {newest}.'
        if self.database.url.get_backend_name() == 'sqlite':
            advice = 'The service upgrades a SQLite database when it starts: make a copy first.'
            return Result(Code.WARNING, f'{message} {advice}')
        return Result(Code.FAILURE, f'{message} Run: ironic-traits-manage db upgrade')

    def online_data_migrations(self) -> Result:
        """Check that all rows are in the form of this release. The next release may rely on it."""
        if revisions.current(self.database) != revisions.newest():
            # The columns may not exist yet.
            return _GOOD
        left = online_migrations.unfinished(self.database, online_migrations.MIGRATIONS)
        if not left:
            return _GOOD
        rows = ', '.join(f'{name}: {number}' for name, number in left.items())
        return Result(Code.WARNING, f'Rows to migrate: {rows}. Run: ironic-traits-manage db online-data-migrations')

    def standard_names(self) -> Result:
        """Check that the database has the names of the installed os-traits and os-resource-classes."""
        if revisions.current(self.database) != revisions.newest():
            # The upgrade of the schema adds them.
            return _GOOD
        missing = [
            name
            for table, standard in ((tables.traits, STANDARD), (tables.resource_classes, os_resource_classes.STANDARDS))
            for name in sorted(set(standard).difference(self._column(sa.select(table.c.name))))
        ]
        if not missing:
            return _GOOD
        message = (
            f'Names missing from the database: {len(missing)}, the first is {missing[0]}. '
            'Run: ironic-traits-manage os-traits sync'
        )
        return Result(Code.WARNING, message)

    def traits(self) -> Result:
        """Check that each trait of a node is either custom or in the installed os-traits."""
        unknown = set(self._column(sa.select(tables.node_traits.c.trait).distinct())).difference(STANDARD)
        removed = sorted(name for name in unknown if not name.startswith(names.PREFIX))
        return _few(removed, 'Nodes have traits that the installed os-traits does not have: {}')

    def drivers(self) -> Result:
        """Check that the driver of each node is enabled."""
        disabled = set(self._column(sa.select(tables.nodes.c.driver).distinct())).difference(drivers.load(self.conf))
        return _few(sorted(disabled), 'Nodes have drivers that are not in [deploy] enabled_hardware_types: {}')

    def inspection_rules(self) -> Result:
        """Check that the files with inspection rules are valid, and that all stored rules can be in force."""
        try:
            rules = RuleCache(built_in(self.conf))
        except cfg.Error as error:
            return Result(Code.FAILURE, str(error))
        with self.database.read() as connection:
            if not sa.inspect(connection).has_table(tables.inspection_rules.name):
                return _GOOD
            problems = rules.problems(connection)
        return _few([f'{name} ({why})' for name, why in problems.items()], 'Inspection rules are not in force: {}')

    def policy_rules(self) -> Result:
        """Check that the policy file can be parsed, and that each rule in it exists."""
        enforcer = policies.enforcer(self.conf)
        try:
            enforcer.load_rules()
        except Exception as error:
            return Result(Code.FAILURE, f'The policy file cannot be read: {error}')
        invalid = [name for name, rule in enforcer.file_rules.items() if _is_invalid(rule)]
        if invalid:
            return Result(
                Code.FAILURE, f'The policy file has rules that cannot be parsed: {", ".join(map(str, invalid))}'
            )
        # A name without a colon is a rule of the operator, to which other rules in the file refer.
        unknown = sorted(
            name for name in enforcer.file_rules if ':' in str(name) and name not in enforcer.registered_rules
        )
        return _few(unknown, 'The policy file has rules that do not exist: {}')

    def policy_file(self) -> Result:
        """Check that the policy file is YAML."""
        return common_checks.check_policy_json(self, self.conf)

    def _column(self, statement: sa.Select) -> list[str]:
        """Return the values of a column. The list is empty when the table does not exist yet."""
        with self.database.read() as connection:
            [table] = statement.get_final_froms()
            exists = isinstance(table, sa.Table) and sa.inspect(connection).has_table(table.name)
            return list(connection.scalars(statement)) if exists else []

    _upgrade_checks = (
        ('Schema of the database', schema),
        ('Online data migrations', online_data_migrations),
        ('Names of traits and resource classes', standard_names),
        ('Traits of nodes', traits),
        ('Drivers of nodes', drivers),
        ('Inspection rules', inspection_rules),
        ('Policy rules', policy_rules),
        ('Format of the policy file', policy_file),
    )


def _is_invalid(rule: Any) -> bool:
    """Whether oslo.policy could not parse a rule. It replaces such a rule by "!", which denies all requests."""
    return str(rule.check) == '!' != str(rule.check_str).strip()


def _few(items: Sequence[str], message: str) -> Result:
    """Return a warning that names the first five items; success without items."""
    if not items:
        return _GOOD
    more = f' and {len(items) - 5} more' if len(items) > 5 else ''
    return Result(Code.WARNING, message.format(', '.join(items[:5]) + more))


def _add_commands(checks: Checks, subparsers: Any) -> None:
    upgrade = subparsers.add_parser('upgrade', help='checks before an upgrade')
    check = upgrade.add_subparsers(dest='action', required=True).add_parser('check', help=__doc__)
    check.add_argument('--json', action='store_true', help='Print JSON.')
    check.set_defaults(function=checks.check)


def check() -> None:
    """Run the checks, print their results, and exit with the code of the worst one."""
    checks = Checks()
    commands = cfg.SubCommandOpt('command', title='commands', handler=functools.partial(_add_commands, checks))
    # oslo.upgradecheck reads --json from here.
    checks.conf = upgradecheck.CONF = setup.configuration(sys.argv[1:], cli=[commands])
    setup.warn(checks.conf)
    with setup.database(checks.conf) as checks.database:
        sys.exit(checks.conf.command.function())
