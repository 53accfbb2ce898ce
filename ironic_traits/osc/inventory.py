"""openstack baremetal inventory …"""

import argparse
import sys

import tqdm
from osc_lib import exceptions

from ironic_traits import client, osc
from ironic_traits.osc import commands
from ironic_traits.transfer import documents, exports, files, imports, sources


class ExportInventory(commands.Command):
    """Write all nodes, with their ports, traits and volumes, to a file

    It also works with Ironic. To import the file, use 'baremetal inventory import' or 'ironic-traits-manage inventory
    import'.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('file', metavar='<file>', help='JSON if the name ends in .json, else YAML; - for stdout')
        parser.add_argument('--force', action='store_true', help='Overwrite the file if it exists')
        parser.add_argument(
            '--mirrored',
            action='store_true',
            help='Include the nodes of mirrored clouds. A service that imports the file owns them',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = osc.client(self.app, version='latest')
        try:
            files.check_free(parsed_args.file, parsed_args.force)
            export = exports.export(client, parsed_args.mirrored)
            files.write(export.document, parsed_args.file)
        except OSError as error:
            raise exceptions.CommandError(str(error)) from error
        # On stderr, because the document may go to stdout.
        print(f'Exported {documents.summary(export.document)} to {parsed_args.file}.{export.remark()}', file=sys.stderr)
        masked = documents.masked(export.document)
        if masked:
            self.log.warning(
                'You may not see the secrets of %d nodes. The file has %s instead of the secrets: %s',
                len(masked),
                documents.MASK,
                ', '.join(masked),
            )


class ImportInventory(commands.Lister):
    """Import nodes from a file

    New nodes are created in their initial provision state, not in that of the file. Nodes that differ from the file
    are updated. Nodes that are not in the file stay unchanged.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('file', metavar='<file>', help='JSON or YAML; - for stdin')
        parser.add_argument(
            '--source',
            metavar='<source>',
            help='Write the traits as this source: other sources keep theirs. By default, traits are written as '
            'operator, or as the sources that the file names',
        )
        parser.add_argument(
            '--prune',
            action='store_true',
            help='With --source: nodes that are not in the file, or have no traits there, lose the traits of the '
            'source',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        if parsed_args.prune and parsed_args.source is None:
            raise exceptions.CommandError('--prune needs --source.')
        try:
            importer = imports.Importer(osc.client(self.app), None, parsed_args.source, parsed_args.prune)
        except ValueError as error:
            raise exceptions.CommandError(str(error)) from error
        units = _units(parsed_args.file)
        for count, (noun, item) in enumerate(tqdm.tqdm(units, unit='node', disable=None, file=sys.__stderr__)):
            try:
                importer.import_unit(noun, item)
            except client.Failed as error:
                progress = f'{documents.ident(item)} cannot be imported ({count} of {len(units)} are imported)'
                raise exceptions.CommandError(f'{progress}: {error}') from error
        for node in importer.stale(units):
            try:
                importer.prune(node)
            except client.Failed as error:
                label = node['name'] or node['uuid']
                raise exceptions.CommandError(
                    f'The file is imported, but the traits of {parsed_args.source} on {label} stay: {error}'
                ) from error
        for warning in (*importer.warnings, *sources.adoption(importer.adopted)):
            self.log.warning(warning)
        return ('What', 'Done', 'Number'), [(*key, number) for key, number in sorted(importer.counts.items())]


def _units(path: str) -> list[documents.Unit]:
    """Return the units of the document in a file, as ``documents.units``.

    :raises exceptions.CommandError: the document is invalid; the message lists all problems.
    """
    try:
        source = files.InputFile(path)
    except (OSError, ValueError) as error:
        raise exceptions.CommandError(f'{path}: {error}') from error
    try:
        return documents.units(source.document)
    except documents.Invalid as error:
        raise exceptions.CommandError('\n'.join(source.sentences(error.problems))) from error
