"""openstack baremetal mirror list, show"""

import argparse

from ironic_traits import osc
from ironic_traits.osc import commands

_LISTED = ('name', 'state', 'nodes', 'conflicts', 'lag_seconds', 'endpoint', 'last_error')
_COLUMNS = (
    'name', 'state', 'waits_for', 'endpoint', 'version', 'process', 'nodes', 'missing_nodes',
    'pass_nodes', 'passed_at', 'current_at',
    'lag_seconds', 'failing_since', 'last_error', 'requests', 'changes',
    'write', 'written_traits', 'trait_writes', 'write_queue', 'write_failing_since', 'write_error', 'undecided_writes',
    'claims', 'unsettled_claims', 'oldest_unsettled_claim', 'conflicts', 'conflict_list',
)  # fmt: skip


class ListMirror(commands.Lister):
    """List the mirrors of other clouds: whether they are up to date, and how many nodes they have"""

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        mirrors = osc.client(self.app).mirrors()
        labels = tuple(name.replace('_', ' ').capitalize() for name in _LISTED)
        return labels, ([mirror[name] for name in _LISTED] for mirror in mirrors)


class ShowMirror(commands.ShowOne):
    """Show the mirror of a cloud, and its conflicts"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('mirror', metavar='<cloud>', help='Name of the cloud')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        mirror = osc.client(self.app).mirror(parsed_args.mirror)
        return _COLUMNS, [mirror[name] for name in _COLUMNS]
