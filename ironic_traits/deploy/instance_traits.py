"""Checks that a node has all traits that its instance requires."""

from collections.abc import Mapping
from typing import Any

from ironic_traits.deploy import validate
from ironic_traits.matching import traits


class InstanceTraits(validate.Hook):
    """A hook that checks ``instance_info['traits']``, a list of traits. The node must have all of them.

    Without that key, the check passes. A trait may be in the list twice, because nova sends the traits of the flavor
    and of the image.
    """

    interface = 'deploy'

    def check(self, node: Mapping[str, Any]) -> None:
        """See ``validate.Hook``."""
        if 'traits' not in node['instance_info']:
            return
        required = node['instance_info']['traits']
        _check_form(node, required)
        missing = sorted(set(required).difference(node['traits']))
        if missing:
            raise validate.Refused(
                'Cannot specify instance traits that are not also set on the node. '
                f'Node {node["uuid"]} is missing traits {", ".join(missing)}'
            )


def _check_form(node: Mapping[str, Any], required: Any) -> None:
    malformed = [required] if not isinstance(required, list) else [name for name in required if not _is_name(name)]
    if malformed:
        details = f' Not traits: {", ".join(map(repr, malformed))}.' if isinstance(required, list) else ''
        raise validate.Refused(
            f'Error parsing traits from Node {node["uuid"]} instance_info field. '
            f'A list of strings is expected.{details}'
        )


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and traits.is_well_formed(name)
