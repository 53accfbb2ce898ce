"""Explanations of POST /v1/matches, as tables."""

from collections.abc import Mapping
from typing import Any

from cliff import columns

from ironic_traits.clauses import group, rejecting, requirement, without
from ironic_traits.osc import commands


class Clauses(columns.FormattableColumn):
    """Clauses: in words in tables, as codes in the formats for programs."""

    def human_readable(self) -> str:
        return '; '.join(map(requirement, self._value))

    def machine_readable(self) -> list[str]:
        return self._value


def requirement_rows(explanation: Mapping[str, Any]) -> commands.Table:
    """Return (columns, rows) of a table with the numbers of nodes that each requirement rules out."""
    rows = [(requirement(each['clause']), each['rejected'], each['rejected_only']) for each in rejecting(explanation)]
    return ('Requirement', 'Nodes ruled out', 'By it alone'), rows


def nearest_rows(explanation: Mapping[str, Any]) -> commands.Table:
    """Return (columns, rows) of a table with the nodes that come closest, and what they lack."""
    rows = [(miss.get('name') or miss['node'], Clauses(miss['rejected_by'])) for miss in explanation['near_misses']]
    return ('Closest node', 'Unmet requirements'), rows


def group_rows(explanation: Mapping[str, Any]) -> commands.Table:
    """Return (columns, rows) of a table with the best groups, and what to drop so that they have more nodes."""
    topology = explanation.get('topology', {'count': 0, 'groups': ()})
    rows = [
        (
            group(each['groups']),
            each['nodes'],
            ', '.join(f'{gain["nodes"]} without {without(gain)}' for gain in each['relaxations']),
        )
        for each in topology['groups']
    ]
    return ('Group', f'Nodes ({topology["count"]} needed)', 'With fewer requirements'), rows
