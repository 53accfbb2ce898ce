"""ironic-traits-status upgrade check: whether this release can work with what is there.

Before the services of a new release are started: 0 when all is well, 1 when something is worth a look, 2 when it must
be mended first (oslo.upgradecheck, as in the other services).
"""

import functools
import sys
from typing import Any

import os_resource_classes
import sqlalchemy as sa
from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from ironic_traits import policies
from ironic_traits.cmd import setup
from ironic_traits.db import migrations, names
from ironic_traits.db.models import node_traits, nodes, resource_classes, traits
from ironic_traits.deploy import drivers
from ironic_traits.matching.traits import STANDARD

_GOOD = Result(Code.SUCCESS)


class Checks(upgradecheck.UpgradeCommands):
    """What is looked at.

    :ivar conf: ConfigOpts, once it was read.
    :ivar database: ironic_traits.db.engine.Database, once there is one.
    """

    conf: Any = None
    database: Any = None

    def schema(self):
        """The schema is that of this release."""
        current, newest = migrations.version(self.database), migrations.head()
        if current == newest:
            return _GOOD
        if current and current not in migrations.revisions():
            return Result(Code.FAILURE, f'The database is at version {current}, which is of a newer release.')
        told = f'The database is at version {current or "none"}, this release needs {newest}.'
        if self.database.url.get_backend_name() == 'sqlite':
            return Result(Code.WARNING, f'{told} The service upgrades a SQLite database by itself: keep a copy.')
        return Result(Code.FAILURE, f'{told} Run: ironic-traits-manage db upgrade')

    def standard_names(self):
        """The database has the names of the libraries that are installed."""
        if migrations.version(self.database) != migrations.head():
            # They come with the schema.
            return _GOOD
        missing = [
            name
            for table, standard in ((traits, STANDARD), (resource_classes, os_resource_classes.STANDARDS))
            for name in sorted(set(standard).difference(self._ask(sa.select(table.c.name))))
        ]
        if not missing:
            return _GOOD
        told = f'{len(missing)} names are new ({missing[0]} is the first). Run: ironic-traits-manage os-traits sync'
        return Result(Code.WARNING, told)

    def traits(self):
        """No node has a trait that could not be given to it any more."""
        strange = set(self._ask(sa.select(node_traits.c.trait).distinct())).difference(STANDARD)
        gone = sorted(name for name in strange if not name.startswith(names.PREFIX))
        return _few(gone, 'Nodes have traits that os-traits does not know any more: {}')

    def drivers(self):
        """No node has a driver that is not enabled."""
        gone = sorted(set(self._ask(sa.select(nodes.c.driver).distinct())).difference(drivers.load(self.conf)))
        return _few(gone, 'Nodes have drivers that [deploy] enabled_hardware_types does not name: {}')

    def policy_rules(self):
        """The policy file names no rule that is none."""
        enforcer = policies.enforcer(self.conf)
        try:
            enforcer.load_rules()
        except Exception as error:
            return Result(Code.FAILURE, f'The policy file cannot be read: {error}')
        # What is no rule at all is one that nobody passes.
        wrong = [name for name, rule in enforcer.file_rules.items() if _is_no_rule(rule)]
        if wrong:
            return Result(Code.FAILURE, f'The policy file has rules that cannot be read: {", ".join(map(str, wrong))}')
        # Rules of an operator's own are what other rules of the file refer to.
        unknown = sorted(
            name for name in enforcer.file_rules if ':' in str(name) and name not in enforcer.registered_rules
        )
        return _few(unknown, 'The policy file has rules that nothing asks for: {}')

    def policy_file(self):
        """The policy file is YAML."""
        return common_checks.check_policy_json(self, self.conf)

    def _ask(self, statement):
        """Give the values of a column; none of a table that is not there yet."""
        with self.database.read() as connection:
            there = sa.inspect(connection).has_table(statement.get_final_froms()[0].name)
            return list(connection.scalars(statement)) if there else []

    _upgrade_checks = (
        ('Schema of the database', schema),
        ('Names of traits and resource classes', standard_names),
        ('Traits of nodes', traits),
        ('Drivers of nodes', drivers),
        ('Policy rules', policy_rules),
        ('Format of the policy file', policy_file),
    )


def _is_no_rule(rule):
    return str(rule.check) == '!' != str(rule.check_str).strip()


def _few(found, told):
    if not found:
        return _GOOD
    more = f' and {len(found) - 5} more' if len(found) > 5 else ''
    return Result(Code.WARNING, told.format(', '.join(found[:5]) + more))


def _add_commands(checks, subparsers):
    upgrade = subparsers.add_parser('upgrade', help='what is to be known before an upgrade')
    check = upgrade.add_subparsers(dest='action', required=True).add_parser('check', help=__doc__)
    check.add_argument('--json', action='store_true', help='Print JSON.')
    check.set_defaults(function=checks.check)


def check():
    """Look, print what was found, and exit with the worst of it."""
    checks = Checks()
    commands = cfg.SubCommandOpt('command', title='commands', handler=functools.partial(_add_commands, checks))
    # Where oslo.upgradecheck looks whether JSON is wanted.
    checks.conf = upgradecheck.CONF = setup.configuration(sys.argv[1:], cli=[commands])
    setup.warn(checks.conf)
    with setup.database(checks.conf) as checks.database:
        sys.exit(checks.conf.command.function())
