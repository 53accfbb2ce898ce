"""baremetal node inventory set"""

import argparse
import json
import sys
from typing import Any

from osc_lib import exceptions

from ironic_traits import osc
from ironic_traits.client import Failed
from ironic_traits.osc import commands


class SetInventory(commands.Command):
    """Store inspection data of a node

    The inspection rules change the traits of the node accordingly. Its properties and its ports do not change.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('node', metavar='<node>', help='Name or UUID of the node')
        parser.add_argument(
            'file',
            metavar='<file>',
            help="JSON, as 'baremetal node inventory save' writes it, or as a ramdisk sends it; - for stdin",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        document = _read(parsed_args.file)
        try:
            osc.client(self.app).set_inventory(parsed_args.node, document)
        except Failed as error:
            raise exceptions.CommandError(str(error)) from error
        print(f'Stored the inventory of node {parsed_args.node}')


def _read(path: str) -> Any:
    """Return the JSON document in a file.

    :param path: path of the file; - for stdin.
    :raises exceptions.CommandError: the file cannot be read, or is not JSON.
    """
    try:
        if path == '-':
            return json.load(sys.stdin)
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise exceptions.CommandError(f'{path}: {error}') from error
