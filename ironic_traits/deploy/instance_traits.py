"""The check that an instance gets what was asked for: its traits must be the node's."""

from ironic_traits.deploy import validate
from ironic_traits.matching import traits


class InstanceTraits(validate.Hook):
    """``instance_info['traits']`` must be a list of traits, all of which the node carries.

    Nothing said is nothing asked for.  A trait may stand there twice: nova sends the flavor's and the image's.
    """

    interface = 'deploy'

    def check(self, node):
        """See ``validate.Hook``."""
        if 'traits' not in node['instance_info']:
            return
        wanted = node['instance_info']['traits']
        _check_form(node, wanted)
        missing = sorted(set(wanted).difference(node['traits']))
        if missing:
            raise validate.Refused(
                'Cannot specify instance traits that are not also set on the node. '
                f'Node {node["uuid"]} is missing traits {", ".join(missing)}'
            )


def _check_form(node, wanted):
    malformed = [wanted] if not isinstance(wanted, list) else [name for name in wanted if not _is_name(name)]
    if malformed:
        found = f' These are none: {", ".join(map(repr, malformed))}.' if isinstance(wanted, list) else ''
        raise validate.Refused(
            f'Error parsing traits from Node {node["uuid"]} instance_info field. A list of strings is expected.{found}'
        )


def _is_name(name):
    return isinstance(name, str) and traits.is_well_formed(name)
