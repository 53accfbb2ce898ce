"""ironic-traits-manage inventory import|export: the whole inventory, or a rack, in a file.

The file's document (``ironic_traits.transfer``) becomes requests of the Bare Metal API, as a client would send them.
They go to the application in this process, which has one transaction for all of them.
"""

import collections
import contextlib
import http
import sys
import urllib.parse

import tqdm
from oslo_db.exception import DBError
from webob import Request

from ironic_traits import app, failures
from ironic_traits.client import VERSION, Client, Failed
from ironic_traits.cmd import setup
from ironic_traits.db import names
from ironic_traits.db.engine import retried
from ironic_traits.db.models import resource_classes, traits
from ironic_traits.db.one_transaction import Lost, OneTransaction
from ironic_traits.inventory import node_states
from ironic_traits.transfer import documents, exports, files, imports


def add_commands(subparsers):
    """Add the commands to those of ironic-traits-manage."""
    commands = subparsers.add_parser('inventory', help='nodes, ports and traits, from a file and to one')
    actions = commands.add_subparsers(dest='action', required=True)
    exporter = actions.add_parser('export', help='Write the whole inventory to a file, secrets included.')
    exporter.add_argument('file', help='made for its owner only; JSON when its name ends so, else YAML; - for stdout')
    exporter.set_defaults(function=export_file)
    importer = actions.add_parser(
        'import',
        help='Make the inventory have what a file says: all of it, or nothing when something in it cannot be. What is '
        'there already is changed where it differs, what the file does not name stays.',
    )
    importer.add_argument('file', help='JSON or YAML; - for stdin')
    importer.add_argument(
        *('--continue', '-c'),
        dest='go_on',
        action='store_true',
        help='each node by itself: those that cannot be are left out, named, and the exit code is 1',
    )
    importer.add_argument('--dry-run', '-n', action='store_true', help='do all of it, say what came of it, undo it')
    importer.set_defaults(function=import_file)


def export_file(conf, database):
    """Write the whole inventory, as it is at one moment, to a file.

    :raises SystemExit: it cannot be written.
    """
    application = _application(conf)
    with database.snapshot() as connection:
        document = exports.export(_Local(application, OneTransaction(connection)))
    try:
        files.write(document, conf.command.file)
    except OSError as error:
        sys.exit(str(error))


def import_file(conf, database):
    """Make the inventory have what a file says, and print what was done.

    :raises SystemExit: it is not what it must be, or something in it cannot be.
    """
    try:
        units = documents.units(files.read(conf.command.file))
    except (OSError, ValueError) as error:
        sys.exit(f'{conf.command.file}: {error}')
    application, dry_run = _application(conf), conf.command.dry_run
    if not dry_run:
        # Or nobody could use a name that is new until all is imported.
        names.make_known(database, traits, documents.traits(units))
        names.make_known(database, resource_classes, documents.resource_classes(units))
    counts: collections.Counter = collections.Counter()
    refused: list[str] = []
    by_itself = conf.command.go_on and not dry_run
    with tqdm.tqdm(total=len(units), unit='node', disable=None) as bar:
        for some in [[unit] for unit in units] if by_itself else [units]:
            brought, told = _bring(application, database, some, dry_run, bar, bar.n)
            counts += brought
            refused += told
    for sentence in refused:
        print(sentence, file=sys.stderr)
    if refused and not conf.command.go_on:
        sys.exit(f'Nothing was imported: {len(refused)} of {len(units)} nodes and chassis cannot be.')
    for (noun, done), number in sorted(counts.items()):
        print(f'{noun}: {number} {done}')
    if conf.command.dry_run:
        print('That is what would be: nothing was imported.')
    if refused:
        sys.exit(f'{len(refused)} of {len(units)} nodes and chassis cannot be.')


class _Undone(Exception):
    """Nothing of a transaction is to stay."""


@retried
def _bring(application, database, units, dry_run, bar, begun):
    """Import units in one transaction: all of them or, when one cannot be, none.

    :param begun: where the progress bar is, also when the transaction is tried again.
    :returns: (an Importer's counts, a sentence for each unit that cannot be).
    """
    bar.n = begun
    counts: collections.Counter = collections.Counter()
    refused: list[str] = []
    with contextlib.suppress(_Undone), database.write() as connection:
        together = OneTransaction(connection)
        client = _Local(application, together)
        for noun, item in units:
            importer = imports.Importer(client, client.settle)
            try:
                # Of one that is refused nothing stays that the next would meet.
                with connection.begin_nested():
                    importer.bring(noun, item)
                counts += importer.counts
            except DBError:
                # The savepoint was gone with the transaction.
                together.check()
                raise
            except Failed as error:
                together.check()
                refused.append(f'{documents.ident(item)}: {error}')
            bar.update()
        if refused or dry_run:
            raise _Undone
    return counts, refused


def _application(conf):
    """Build the application for the operator of this machine, who may do and see everything."""
    setup.schema(conf)
    conf.set_override('auth_strategy', 'noauth', group='api')
    conf.set_override('serve', 'all', group='api')
    application = app.build(conf)
    application.service.enforcer = _Everything()
    return application


class _Everything:
    """Stands in for policy: everything is allowed, and no secret is masked."""

    def authorize(self, rule, target, context):
        return True


class _Local(Client):
    """Asks an application in this process.

    :param database: what it reads from and writes to.
    """

    def __init__(self, application, database):
        self._application = application
        application.service.read, application.service.write = database.read, database.write

    def ask(self, method, path, document=None, query=None):
        request = Request.blank(path if query is None else f'{path}?{urllib.parse.urlencode(query)}', method=method)
        request.headers['X-OpenStack-Ironic-API-Version'] = VERSION
        if document is not None:
            request.json = document
        response = request.get_response(self._application)
        if response.status_int >= 400:
            raise Failed(response.status_int, response.status, response.json if response.body else {})
        return response.json if response.body else None

    def settle(self, uuid, states):
        """Put a node that is new into the states that its document says."""
        try:
            node_states.place(self._application.service, uuid, **states)
        except (failures.Failure, Lost, DBError) as error:
            raise Failed(http.HTTPStatus.CONFLICT, '', {'error_message': str(error)}) from error
