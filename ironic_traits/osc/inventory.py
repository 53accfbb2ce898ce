"""openstack baremetal inventory …"""

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
        return parser

    def take_action(self, parsed_args):
        document = osc.client(self.app, version='latest').export_inventory()
        files.write(document, parsed_args.file)
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
        try:
            units = documents.units(files.read(parsed_args.file))
        except (OSError, ValueError) as error:
            raise exceptions.CommandError(f'{parsed_args.file}: {error}') from error
        importer = imports.Importer(osc.client(self.app))
        for done, (noun, item) in enumerate(tqdm.tqdm(units, unit='node', disable=None)):
            try:
                importer.bring(noun, item)
            except client.Failed as error:
                told = f'{done} of {len(units)} were imported, then came {documents.ident(item)}'
                raise exceptions.CommandError(f'{told}: {error}') from error
        return ('What', 'Done', 'Number'), [(*what, number) for what, number in sorted(importer.counts.items())]
