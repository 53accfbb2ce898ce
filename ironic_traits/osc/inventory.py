"""openstack baremetal inventory …"""

import sys

import tqdm
from osc_lib import exceptions
from osc_lib.command import command

from ironic_traits import client, osc
from ironic_traits.transfer import documents, files, imports


class ExportInventory(command.Command):
    """Write all nodes, and what belongs to them, to a file; also of another Bare Metal service.

    For 'baremetal inventory import' and 'ironic-traits-manage inventory import'.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('file', metavar='<file>', help='JSON when its name ends so, else YAML; - for stdout')
        parser.add_argument('--force', action='store_true', help='Overwrite a file that exists')
        return parser

    def take_action(self, parsed_args):
        client = osc.client(self.app, version='latest')
        try:
            files.check_free(parsed_args.file, parsed_args.force)
            document = client.export_inventory()
            files.write(document, parsed_args.file)
        except OSError as error:
            raise exceptions.CommandError(str(error)) from error
        # Not to stdout, where the document may be.
        print(f'Exported {documents.summary(document)} to {parsed_args.file}.', file=sys.stderr)
        masked = documents.masked(document)
        if masked:
            self.log.warning(
                'Nodes with secrets that you may not see (%d), %s stands for them: %s',
                *(len(masked), documents.MASK, ', '.join(masked)),
            )


class ImportInventory(command.Lister):
    """Make the inventory have what a file says.

    What is there already is changed where it differs, what the file does not name stays. Nodes that are new begin
    where nodes begin, whatever the file says of their states.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('file', metavar='<file>', help='JSON or YAML; - for stdin')
        return parser

    def take_action(self, parsed_args):
        units = _units(parsed_args.file)
        importer = imports.Importer(osc.client(self.app))
        for done, (noun, item) in enumerate(tqdm.tqdm(units, unit='node', disable=None)):
            try:
                importer.bring(noun, item)
            except client.Failed as error:
                told = f'{done} of {len(units)} were imported, then came {documents.ident(item)}'
                raise exceptions.CommandError(f'{told}: {error}') from error
        for warning in importer.warnings:
            self.log.warning(warning)
        return ('What', 'Done', 'Number'), [(*what, number) for what, number in sorted(importer.counts.items())]


def _units(path):
    """Return the units of the document in a file.

    :raises exceptions.CommandError: it has none; the sentences say all that is wrong with it.
    """
    try:
        source = files.Source(path)
    except (OSError, ValueError) as error:
        raise exceptions.CommandError(f'{path}: {error}') from error
    try:
        return documents.units(source.document)
    except documents.Invalid as error:
        raise exceptions.CommandError('\n'.join(source.sentences(error.problems))) from error
