"""ironic-traits-manage inventory import|export: the whole inventory, or a part such as a rack, in a file.

An import turns the file's document (``ironic_traits.transfer``) into requests of the Bare Metal API. It sends them to
an application in this process, which runs all of them in one transaction.
"""

import collections
import contextlib
import functools
import sys
from collections.abc import Callable, Sequence

import tqdm
from oslo_config import cfg

from ironic_traits import app
from ironic_traits.cmd import setup
from ironic_traits.cmd.importing import local
from ironic_traits.conf import database_name
from ironic_traits.db import names, tables
from ironic_traits.db.engine import Database, retried
from ironic_traits.db.one_transaction import OneTransaction
from ironic_traits.inventory.core import trait_writers
from ironic_traits.printing import count
from ironic_traits.service import Service
from ironic_traits.transfer import documents, exports, files, sources
from ironic_traits.transfer.documents import Unit

#: Seconds for which importing one node locks a SQLite database on a slow machine: a new node, and a changed one.
_NEW_NODE, _CHANGED_NODE = 0.0015, 0.008
#: Maximum number of problems that are printed.
_MAX_PROBLEMS = 100

#: A function that returns the client whose requests run in a transaction.
Connect = Callable[[OneTransaction], local.LocalClient]


def export_file(conf: cfg.ConfigOpts, database: Database) -> None:
    """Write a consistent snapshot of the inventory to a file.

    :raises SystemExit: the file cannot be written.
    """
    path = conf.command.file
    try:
        files.check_free(path, conf.command.force)
        connect = _connector(conf)
        with database.snapshot() as connection:
            export = exports.export(connect(OneTransaction(connection)), conf.command.mirrored)
        files.write(export.document, path)
    except OSError as error:
        sys.exit(str(error))
    # On stderr, because the document may go to stdout.
    summary = documents.summary(export.document)
    print(f'Exported {summary} from {database_name(conf)} to {_target(path)}.{export.remark()}', file=sys.stderr)


def import_file(conf: cfg.ConfigOpts, database: Database) -> None:
    """Import a file into the inventory, and print what changed.

    The import is one transaction. With --continue, each node and each chassis has its own transaction.

    :raises SystemExit: the file is invalid, or a part of it cannot be imported.
    """
    source, prune, dry_run = conf.command.source, conf.command.prune, conf.command.dry_run
    _check(source, prune)
    units = _units(conf.command.file)
    connect = _connector(conf)
    if not dry_run:
        _add_names(database, units, source)
    one_by_one = conf.command.go_on and not dry_run
    if database.url.get_backend_name() == 'sqlite' and not one_by_one:
        _warn_of_lock(len(units), conf.database.lock_timeout)
    outcome = _Outcome()
    with tqdm.tqdm(total=len(units), unit='node', disable=None, file=sys.__stderr__) as bar:
        create = functools.partial(_importer, connect, bar, source, prune)
        # The last part prunes.
        parts = [*(([unit], None) for unit in units), ([], units)] if one_by_one else [(units, units)]
        for part, document_units in parts:
            outcome.add(_import_units(create, database, part, document_units, dry_run, bar.n))
    if dry_run:
        for line in outcome.changes:
            print(line)
    _print_problems([*outcome.warnings, *sources.adoption(outcome.adopted), *outcome.refused])
    refusal = f'{len(outcome.refused)} of {len(units)} nodes and chassis cannot be imported.'
    if outcome.refused and not conf.command.go_on:
        sys.exit(f'Nothing was imported: {refusal}')
    for (noun, result), number in sorted(outcome.counts.items()):
        print(f'{noun}: {number} {result}')
    if dry_run:
        print('This was a dry run: nothing was imported.')
    else:
        print(f'Imported {_source(conf.command.file)} into {database_name(conf)}.')
    if outcome.refused:
        sys.exit(refusal)


def _add_names(database: Database, units: Sequence[Unit], source: str | None) -> None:
    """Add the names of a document, in their own transactions. The transaction of the import would lock them.

    :param source: the source of the import; None for those of the document.
    """
    names.add(database, tables.traits, documents.traits(units))
    names.add(database, tables.resource_classes, documents.resource_classes(units))
    for name in documents.sources_of(units) if source is None else [source]:
        trait_writers.ensure(database, name)


def _check(source: str | None, prune: bool) -> None:
    """Raise SystemExit unless an import can write as a source, and can prune if requested."""
    try:
        sources.check_source(source)
    except ValueError as error:
        sys.exit(str(error))
    if prune and source is None:
        sys.exit('--prune needs --source.')


def _units(path: str) -> list[Unit]:
    """Return the units of the document in a file, as ``documents.units``. If it is invalid, print its problems.

    :raises SystemExit: the file cannot be read, or the document is invalid.
    """
    try:
        source = files.InputFile(path)
    except (OSError, ValueError) as error:
        sys.exit(f'{path}: {error}')
    try:
        return documents.units(source.document)
    except documents.Invalid as error:
        _print_problems(source.sentences(error.problems))
        sys.exit(f'Nothing was imported: {path} has {count(len(error.problems), "error")}.')


class _Outcome:
    """The sum of the results of all parts of an import. Its attributes are those of a LocalImporter."""

    def __init__(self) -> None:
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.changes: list[str] = []
        self.warnings: list[str] = []
        self.adopted: set[str] = set()
        self.refused: list[str] = []

    def add(self, importer: local.LocalImporter) -> None:
        """Add the results of a part."""
        self.counts += importer.counts
        self.changes += importer.changes
        self.warnings += importer.warnings
        self.adopted |= importer.adopted
        self.refused += importer.refused


def _print_problems(sentences: Sequence[str]) -> None:
    """Print the first problems to stderr, and how many more there are."""
    for sentence in sentences[:_MAX_PROBLEMS]:
        print(sentence, file=sys.stderr)
    if len(sentences) > _MAX_PROBLEMS:
        print(f'… and {len(sentences) - _MAX_PROBLEMS} more.', file=sys.stderr)


def _source(path: str) -> str:
    return 'standard input' if path == '-' else path


def _target(path: str) -> str:
    return 'standard output' if path == '-' else path


def _warn_of_lock(number: int, patience: float) -> None:
    """Warn before an import that may lock a SQLite database for a third of the time that other writers wait."""
    if number * _CHANGED_NODE >= patience / 3:
        print(
            f'The import locks the SQLite database for about {number * _NEW_NODE:.0f} s, or for about '
            f'{number * _CHANGED_NODE:.0f} s if most of the {number} nodes exist already and differ. Other writers '
            f'wait up to {patience} s for the lock, then they fail. With --continue, each node has a transaction of '
            'its own.',
            file=sys.stderr,
        )


class _Rollback(Exception):
    """A signal to roll a transaction back."""


@retried
def _import_units(
    create: Callable[[OneTransaction, int], local.LocalImporter],
    database: Database,
    units: Sequence[Unit],
    document_units: Sequence[Unit] | None,
    dry_run: bool,
    start: int,
) -> local.LocalImporter:
    """Import units in one transaction. Roll it back when one of them is refused, and after a dry run.

    :param create: function of a OneTransaction and ``start`` that returns a LocalImporter.
    :param document_units: all units of the document, to prune the nodes that it does not have; None for no pruning.
    :param start: position of the progress bar before the transaction. A retry resets the bar to it.
    :returns: the importer, with its results.
    """
    with contextlib.suppress(_Rollback), database.write() as connection:
        importer = create(OneTransaction(connection), start)
        importer.import_units(units)
        if document_units is not None:
            importer.prune(document_units)
        if importer.refused or dry_run:
            raise _Rollback
    return importer


def _importer(
    connect: Connect, bar: tqdm.tqdm, source: str | None, prune: bool, transaction: OneTransaction, start: int
) -> local.LocalImporter:
    """Return a LocalImporter, after setting the progress bar.

    :param connect: the result of ``_connector``.
    """
    bar.n = start
    return local.LocalImporter(connect(transaction), transaction, bar.update, source, prune)


def _connector(conf: cfg.ConfigOpts) -> Connect:
    """Build the application for the operator of this machine, who has full access and sees secrets.

    :returns: function from a OneTransaction to a LocalClient of the application.
    """
    setup.schema(conf)
    conf.set_override('auth_strategy', 'noauth', group='api')
    conf.set_override('serve', 'all', group='api')
    # Waiting for the lock of a node is useless here: the transaction would not see that the lock is released.
    conf.set_override('node_locked_retry_attempts', 0, group='deploy')
    with setup.usable():
        service = Service(conf)
    service.enforcer = local.Everything()
    return functools.partial(local.LocalClient, app.build(service), service)
