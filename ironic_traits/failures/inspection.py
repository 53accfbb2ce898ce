"""Failures of runs of inspection rules."""

from ironic_traits.failures.base import Outdated


class PreviewOutdated(Outdated):
    """The rules in force, the selected nodes, or the data of their inspections are not those of the preview."""

    code = 'baremetal.inspection.outdated'
    text = (
        'The rules in force, the selected nodes or the data of their inspections have changed since the preview. Check '
        'a new preview: its digest is {digest}.'
    )
