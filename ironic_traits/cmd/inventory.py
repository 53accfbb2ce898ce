"""ironic-traits-manage inventory import|export: the whole inventory, or a rack, in a file.

The file's document (``ironic_traits.transfer``) becomes requests of the Bare Metal API, as a client would send them.
They go to the application in this process, which has one transaction for all of them.
"""

import collections
import contextlib
import sys

import sqlalchemy as sa
import tqdm

from ironic_traits import app
from ironic_traits.cmd import setup
from ironic_traits.db import names, timeouts
from ironic_traits.db.engine import retried
from ironic_traits.db.models import resource_classes, traits
from ironic_traits.db.one_transaction import OneTransaction
from ironic_traits.transfer import documents, exports, files, local

#: How long a node holds the lock of a SQLite database, in seconds, on a slow machine: a new one, and a changed one.
_NEW_NODE, _CHANGED_NODE = 0.0015, 0.008
#: Worth a warning: a third of the time that another writer waits.
_LONG = timeouts.LOCK / 3

#: How many sentences about what went wrong are printed.
_MOST = 100


def export_file(conf, database):
    """Write the whole inventory, as it is at one moment, to a file.

    :raises SystemExit: it cannot be written.
    """
    path = conf.command.file
    try:
        files.check_free(path, conf.command.force)
        application = _application(conf)
        with database.snapshot() as connection:
            document = exports.export(local.LocalClient(application, OneTransaction(connection)))
        files.write(document, path)
    except OSError as error:
        sys.exit(str(error))
    # Not to stdout, where the document may be.
    print(f'Exported {documents.summary(document)} from {_name(conf)} to {_target(path)}.', file=sys.stderr)


def import_file(conf, database):
    """Make the inventory have what a file says, and print what was done.

    :raises SystemExit: it is not what it must be, or something in it cannot be.
    """
    units = _units(conf.command.file)
    application, dry_run = _application(conf), conf.command.dry_run
    if not dry_run:
        # Or nobody could use a name that is new until all is imported.
        names.add(database, traits, documents.traits(units))
        names.add(database, resource_classes, documents.resource_classes(units))
    by_itself = conf.command.go_on and not dry_run
    if database.url.get_backend_name() == 'sqlite' and not by_itself:
        _warn_of_lock(len(units))
    outcome = _Outcome()
    with tqdm.tqdm(total=len(units), unit='node', disable=None) as bar:
        for some in [[unit] for unit in units] if by_itself else [units]:
            outcome.add(_bring(application, database, some, dry_run, bar, bar.n))
    if dry_run:
        for line in outcome.changes:
            print(line)
    _print_some([*outcome.warnings, *outcome.refused])
    cannot_be = f'{len(outcome.refused)} of {len(units)} nodes and chassis cannot be.'
    if outcome.refused and not conf.command.go_on:
        sys.exit(f'Nothing was imported: {cannot_be}')
    for (noun, done), number in sorted(outcome.counts.items()):
        print(f'{noun}: {number} {done}')
    if dry_run:
        print('That is what would be: nothing was imported.')
    else:
        print(f'Imported {_source(conf.command.file)} into {_name(conf)}.')
    if outcome.refused:
        sys.exit(cannot_be)


def _units(path):
    """Return the units of the document in a file.

    :raises SystemExit: it has none; all that is wrong with it was printed.
    """
    try:
        source = files.Source(path)
    except (OSError, ValueError) as error:
        sys.exit(f'{path}: {error}')
    try:
        return documents.units(source.document)
    except documents.Invalid as error:
        _print_some(source.sentences(error.problems))
        sys.exit(f'Nothing was imported: {path} has {len(error.problems)} error{"s"[: len(error.problems) > 1]}.')


class _Outcome:
    """What came of all parts of an import; its attributes are a LocalImporter's."""

    def __init__(self):
        self.counts: collections.Counter = collections.Counter()
        self.changes: list[str] = []
        self.warnings: list[str] = []
        self.refused: list[str] = []

    def add(self, importer):
        """Add a part."""
        self.counts += importer.counts
        self.changes += importer.changes
        self.warnings += importer.warnings
        self.refused += importer.refused


def _print_some(sentences):
    """Print what went wrong, the first of it when there is much."""
    for sentence in sentences[:_MOST]:
        print(sentence, file=sys.stderr)
    if len(sentences) > _MOST:
        print(f'… and {len(sentences) - _MOST} more.', file=sys.stderr)


def _name(conf):
    return sa.make_url(conf.database.connection).render_as_string(hide_password=True)


def _source(path):
    return 'standard input' if path == '-' else path


def _target(path):
    return 'standard output' if path == '-' else path


def _warn_of_lock(count):
    """Warn before an import that may lock a SQLite database for long."""
    if count * _CHANGED_NODE >= _LONG:
        print(
            f'This locks the SQLite database for about {count * _NEW_NODE:.0f} s, or for about '
            f'{count * _CHANGED_NODE:.0f} s if most of the {count} nodes are there already and differ. Other writers '
            f'wait up to {timeouts.LOCK} s, then they fail. With --continue, each node is a transaction of its own.',
            file=sys.stderr,
        )


class _Undone(Exception):
    """Nothing of a transaction is to stay."""


@retried
def _bring(application, database, units, dry_run, bar, begun):
    """Import units in one transaction: all of them or, when one cannot be, none.

    :param begun: where the progress bar is, also when the transaction is tried again.
    :returns: ironic_traits.transfer.local.LocalImporter, with its counts and what it refused.
    """
    bar.n = begun
    with contextlib.suppress(_Undone), database.write() as connection:
        together = OneTransaction(connection)
        importer = local.LocalImporter(local.LocalClient(application, together), together, bar.update)
        importer.bring(units)
        if importer.refused or dry_run:
            raise _Undone
    return importer


def _application(conf):
    """Build the application for the operator of this machine, who may do and see everything."""
    setup.schema(conf)
    conf.set_override('auth_strategy', 'noauth', group='api')
    conf.set_override('serve', 'all', group='api')
    # An import is one transaction: in it no lock can go that is waited for.
    conf.set_override('node_locked_retry_attempts', 0, group='deploy')
    application = app.build(conf)
    application.service.enforcer = local.Everything()
    return application
