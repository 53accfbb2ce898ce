"""Failures of runs of inspection rules."""

from ironic_traits.failures.base import Failure


class PreviewOutdated(Failure):
    """The rules in force, the selected nodes, or the data of their inspections are not those of the preview.

    :param digest: the digest that a preview has now.
    """

    status = 409
    code = 'baremetal.inspection.outdated'
    text = (
        'The rules in force, the selected nodes or the data of their inspections have changed since the preview. Check '
        'a new preview: its digest is {digest}.'
    )

    def __init__(self, digest: str) -> None:
        super().__init__(digest=digest)
        self.beside = {'digest': digest}
