"""ironic-traits-manage placement import|export: from and to another Placement, through its API."""

import functools
import os
import sys
from collections.abc import Sequence

import tqdm
from oslo_config import cfg
from oslo_db.exception import DBDuplicateEntry

from ironic_traits import failures
from ironic_traits.cmd import setup
from ironic_traits.conf.mirror import claims_nodes
from ironic_traits.db.engine import Database
from ironic_traits.placement.snapshots import Snapshot
from ironic_traits.placement_transfer import outcome
from ironic_traits.placement_transfer.exporting import Export
from ironic_traits.placement_transfer.exporting import read as read_own
from ironic_traits.placement_transfer.importing import Import
from ironic_traits.placement_transfer.reading import Reader
from ironic_traits.placement_transfer.remote import TYPES_SINCE, Remote, Unusable
from ironic_traits.printing import count, printable

#: Maximum number of differences that are printed.
_MAX_LINES = 1000


def import_all(conf: cfg.ConfigOpts, database: Database) -> None:
    """Import another Placement, compare it with the database, and print what differs.

    :raises SystemExit: the other Placement cannot be read, or something differs at the end.
    """
    setup.schema(conf)
    try:
        remote = _remote(conf.command)
        source = _read(remote, conf.command)[1]
    except Unusable as error:
        sys.exit(printable(f'Nothing was imported: {error}'))
    needs_claim = functools.partial(claims_nodes, conf)
    transfer = Import(database, source, remote.minor >= TYPES_SINCE, conf.command.prune, needs_claim=needs_claim)
    unknown = transfer.unknown_names()
    if unknown:
        print(f'Not in the os-traits and os-resource-classes that are installed here: {", ".join(unknown)}.')
    if conf.command.dry_run:
        _end_dry_run(transfer, 'imported')
        return
    try:
        with _progress('provider', len(source.providers)) as bar:
            transfer.run(bar.update)
    except (failures.Failure, DBDuplicateEntry) as error:
        reason = f'Another client has changed providers or consumers here: {error}'
        sys.exit(printable(f'Only a part was imported. {reason} Run the command again.'))
    _end(transfer, transfer.verify(), f'Imported {remote.url}')


def export_all(conf: cfg.ConfigOpts, database: Database) -> None:
    """Export the database to another Placement, compare the two, and print what differs.

    :raises SystemExit: the other Placement cannot be read or written, or something differs at the end.
    """
    setup.schema(conf)
    own = read_own(database)
    try:
        remote = _remote(conf.command)
        reader, existing = _read(remote, conf.command)
        transfer = Export(remote, own, reader, existing, conf.command.jobs, conf.command.prune)
    except Unusable as error:
        sys.exit(printable(f'Nothing was exported: {error}'))
    if conf.command.dry_run:
        _end_dry_run(transfer, 'exported')
        return
    try:
        with _progress('provider', len(own.providers)) as bar:
            transfer.run(bar.update)
        existing = _read(remote, conf.command)[1]
    except Unusable as error:
        sys.exit(printable(f'A part was exported: {error} Run the command again.'))
    _end(transfer, transfer.verify(existing), f'Exported to {remote.url}')


def _remote(command: cfg.ConfigOpts.SubCommandAttr) -> Remote:
    """Return the Remote of the arguments.

    :raises Unusable: the other Placement does not respond.
    """
    if not command.url and not command.cloud:
        sys.exit('Name the URL of the other Placement, or its --cloud in clouds.yaml.')
    return Remote(command.url, command.cloud, os.environ.get('OS_TOKEN'))


def _read(remote: Remote, command: cfg.ConfigOpts.SubCommandAttr) -> tuple[Reader, Snapshot]:
    """Read another Placement, and print how much it has.

    :returns: (Reader, Snapshot).
    :raises Unusable: the other Placement cannot be read.
    """
    before = remote.requests
    with _progress('request', 0) as bar:

        def progress(done: int, total: int) -> None:
            bar.total += total
            bar.update(done)

        reader = Reader(remote, command.jobs, progress)
        snapshot = reader.read()
    number = count(remote.requests - before, 'request')
    print(f'Read {outcome.summary(snapshot)} of {remote.url} in {number}.', flush=True)
    if reader.unsettled:
        print(
            f'{count(len(reader.unsettled), "provider")} changed all the time. Stop the clients of the other '
            'Placement, and run the command again.',
            file=sys.stderr,
        )
    return reader, snapshot


def _progress(unit: str, total: int) -> tqdm.tqdm:
    return tqdm.tqdm(total=total, unit=unit, disable=None, leave=False, file=sys.__stderr__)


def _end_dry_run(transfer: Import | Export, verb: str) -> None:
    for line in transfer.plan.lines:
        print(printable(line))
    for line in transfer.plan.counts():
        print(line)
    print(f'This was a dry run: nothing was {verb}.', flush=True)
    _print_differences(transfer.refusals())


def _end(transfer: Import | Export, differences: Sequence[str], done: str) -> None:
    for line in transfer.plan.counts():
        print(line)
    if not transfer.plan:
        print('Nothing had to be changed.')
    print(f'{done}. Compared row by row: the two {"differ" if differences else "are equal"}.', flush=True)
    _print_differences(differences)


def _print_differences(lines: Sequence[str]) -> None:
    """Print what differs, and exit with 1 if anything does."""
    for line in lines[:_MAX_LINES]:
        print(printable(line), file=sys.stderr)
    if len(lines) > _MAX_LINES:
        print(f'… and {len(lines) - _MAX_LINES} more.', file=sys.stderr)
    if lines:
        sys.exit(f'{count(len(lines), "difference")}.')
