"""Failures about records, such as ports, and about VIFs."""

from ironic_traits.failures.base import Failure


class NotEmpty(Failure):
    """A record that cannot be deleted or moved, because other records belong to it."""

    status = 400
    code = 'baremetal.not_empty'
    text = 'Cannot complete the requested action because {what} contains {members}.'


class VifNotAttached(Failure):
    """The node has no such VIF."""

    status = 400
    code = 'baremetal.vif.not_attached'
    text = 'Unable to detach VIF {vif} from node {node} because it is not attached to it.'


class RecordNotFound(Failure):
    """No such chassis, port, portgroup, volume connector, volume target or allocation."""

    status = 404
    code = 'baremetal.record.not_found'
    text = '{what} {ident} could not be found.'


class RecordExists(Failure):
    """Another chassis, port, allocation, … has the same uuid or other unique field."""

    status = 409
    code = 'baremetal.record.duplicate'
    text = '{article} {what} {key} already exists.'

    def __init__(self, what: str, key: str) -> None:
        super().__init__(article='An' if what[0] in 'aeiou' else 'A', what=what, key=key)


class RecordMirrored(Failure):
    """The allocation is one of another Ironic, which must do what was requested."""

    status = 409
    code = 'baremetal.record.mirrored'
    text = '{what} {uuid} is managed by the Ironic of cloud {cloud}. Send the request to its endpoint: {endpoint}.'


class VifAlreadyAttached(Failure):
    """The node already has the VIF."""

    status = 409
    code = 'baremetal.vif.attached'
    text = 'Unable to attach VIF because VIF {vif} is already attached to Ironic Node {node}'


class NoStandalonePorts(Failure):
    """The portgroup does not support standalone ports (with ``pxe_enabled``)."""

    status = 409
    code = 'baremetal.portgroup.not_standalone'
    text = (
        "Port group {portgroup} doesn't support standalone ports. This port cannot be created as a member of that "
        "portgroup as the port's 'pxe_enabled' field was set to True."
    )


class OtherNetwork(Failure):
    """A port on a different physical network than the other ports of its portgroup."""

    status = 409
    code = 'baremetal.portgroup.other_network'
    text = (
        'Port with physical network {network} cannot become a member of port group {portgroup} which has ports in '
        'physical network {others}.'
    )
