"""The failures that clients see: each has an HTTP status, a stable code and a message.

Code raises one of these classes. ``api.exceptions`` maps the exceptions of libraries to them, and answers the request.
"""

from collections import Counter
from typing import Any

#: Maximum length of a message, in characters.
MAX_LENGTH = 2000


class Failure(Exception):
    """A failure that is reported to the client.

    :param facts: the values for the placeholders in ``text``.
    :cvar status: HTTP status.
    :cvar code: code for programs. It never changes.
    :cvar text: message, with placeholders.
    :ivar facts: the same values.
    """

    status = 500
    code = 'baremetal.internal_error'
    text = '{reason}'
    #: Further keys of the body, next to the message: {key: value}.
    beside: dict[str, Any] = {}
    #: Whether Ironic reports this before a controller is reached. The body has a different format then.
    routing = False
    #: The Allow header of the response; None for no header.
    allow: str | None = None

    def __init__(self, **facts):
        self.facts = facts
        # The message may quote the request, which may be of any length.
        super().__init__(self.text.format(**facts)[:MAX_LENGTH])


class InternalError(Failure):
    """A bug in the service. The log has the traceback, with the request id."""

    text = 'The service failed. Its log has the cause, with the request id of this response.'


class InvalidInput(Failure):
    """A value in the request is invalid."""

    status = 400
    code = 'baremetal.invalid_input'


class UnexpectedArguments(Failure):
    """Query parameters that the route does not have."""

    status = 400
    code = 'baremetal.unexpected_arguments'
    text = 'Unexpected arguments: {names}'


class InvalidIdent(Failure):
    """A text in place of a uuid or a name in the path, which can be neither."""

    status = 400
    code = 'baremetal.invalid_input'
    text = 'Expected UUID or name for node: {ident}'
    routing = True


class InvalidTrait(Failure):
    """A name that is not allowed as a trait of a node."""

    status = 400
    code = 'baremetal.trait.invalid'
    text = (
        "{where}'{trait}' is not a trait: it must be a name of os-traits, or CUSTOM_ followed by A-Z, 0-9 and _, "
        '255 characters at most.{hint}'
    )

    def __init__(self, trait, nearest=None, where=None):
        hint = f" Did you mean '{nearest}'?" if nearest else ''
        super().__init__(trait=trait, hint=hint, where=f'{where}: ' if where else '')


class ConflictingTraits(Failure):
    """A request that both requires and forbids a trait."""

    status = 400
    code = 'baremetal.match.conflict'
    text = '{what} is required by {here} and forbidden by {there}.'


class TooManyTraits(Failure):
    """More traits than a node may have."""

    status = 400
    code = 'baremetal.trait.too_many'
    text = (
        'Could not modify traits for node {node} as it would exceed the maximum number of traits per node '
        '({count} vs. {limit}); the source {source} would add {names}'
    )


class EditExceedsLimit(Failure):
    """An edit of many nodes, some of which would have more traits than a node may have.

    :param nodes: the first of these nodes: [{'uuid': …, 'name': …, 'traits': number}, …].
    """

    status = 400
    code = 'baremetal.trait.too_many'
    text = 'The edit would exceed the maximum number of traits per node ({limit}) on {count}: {names}. Nothing changed.'

    def __init__(self, nodes, count, limit, names):
        super().__init__(count=f'{count} node{"" if count == 1 else "s"}', limit=limit, names=names)
        self.beside = {'nodes': nodes}


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


class InvalidTransition(Failure):
    """A verb that is not allowed in the provision state of the node."""

    status = 400
    code = 'baremetal.node.invalid_transition'
    text = 'The requested action "{action}" can not be performed on node "{node}" while it is in state "{state}".'


class NodeInMaintenance(Failure):
    """A verb that is not allowed while the node is in maintenance."""

    status = 400
    code = 'baremetal.node.in_maintenance'
    text = "The {operation} operation can't be performed on node {node} because it's in maintenance mode."


class NodeRetired(Failure):
    """The node is retired, and cannot become available."""

    status = 400
    code = 'baremetal.node.retired'
    text = "The providing operation can't be performed on node {node} because it is retired."


class DeployRefused(Failure):
    """A deploy-validate hook refused the deployment."""

    status = 400
    code = 'baremetal.node.deploy_refused'
    text = 'Failed to validate deploy or power info for node {node}: {reason}'


class Unauthorized(Failure):
    """The request is not authenticated."""

    status = 401
    code = 'baremetal.unauthorized'
    text = 'The request needs authentication: a valid token, or a user name and its password.'
    routing = True


class Forbidden(Failure):
    """Policy does not allow the request."""

    status = 403
    code = 'baremetal.forbidden'
    text = 'Access was denied to the following resource: {rule}'


class EditForbidden(Failure):
    """Policy does not allow an edit of many nodes for some of them."""

    status = 403
    code = 'baremetal.forbidden'
    text = 'You may not change the traits of {forbidden} of the {selected} selected nodes ({rule}). Nothing changed.'


class NodeProtected(Failure):
    """The node is protected."""

    status = 403
    code = 'baremetal.node.protected'
    text = 'Node {node} is protected and cannot be undeployed, rebuilt or deleted'


class NodeNotFound(Failure):
    """No such node that the caller may see."""

    status = 404
    code = 'baremetal.node.not_found'
    text = 'Node {node} could not be found.'


class ReservationNotFound(Failure):
    """No such reservation, or it has expired."""

    status = 404
    code = 'baremetal.reservation.not_found'
    text = 'Reservation {reservation} could not be found.'


class TraitNotFound(Failure):
    """The node does not have the trait."""

    status = 404
    code = 'baremetal.trait.not_found'
    text = "Node {node} doesn't have a trait '{trait}'"


class TraitNotHeld(Failure):
    """The node has the trait, but not from the source of the request."""

    status = 404
    code = 'baremetal.trait.not_held'
    text = "The source '{source}' does not hold the trait '{trait}' on node {node}. Sources that do: {holders}"


class SourceNotFound(Failure):
    """The source of the request holds none of the node's traits."""

    status = 404
    code = 'baremetal.trait.source_not_found'
    text = "The source '{source}' holds no trait of node {node}. Sources that do: {sources}"


class TraitVetoed(Failure):
    """A source other than the operator adds a trait that the operator has removed."""

    status = 409
    code = 'baremetal.trait.vetoed'
    text = (
        "The trait '{trait}' of node {node} is vetoed: an operator removed it. The source '{source}' can add it after "
        'DELETE /v1/nodes/{node}/traits/{trait}/veto, or after an operator has added it.'
    )


class EditOutdated(Failure):
    """The nodes that an edit selects, or their traits, are not those of the preview.

    :param digest: the digest that a preview has now.
    """

    status = 409
    code = 'baremetal.trait.edit_outdated'
    text = (
        'The selected nodes, their traits or the edit have changed since the preview. Nothing changed. Check a new '
        'preview: its digest is {digest}.'
    )

    def __init__(self, digest):
        super().__init__(digest=digest)
        self.beside = {'digest': digest}


class VetoNotFound(Failure):
    """The node has no veto of the trait."""

    status = 404
    code = 'baremetal.trait.veto_not_found'
    text = "Node {node} has no veto of the trait '{trait}'"


class HistoryNotFound(Failure):
    """The history has no such entry."""

    status = 404
    code = 'baremetal.history.not_found'
    text = 'Node history record {history} could not be found.'


class TraitsNotKnown(Failure):
    """The history of a node begins after the time for which its traits are requested."""

    status = 410
    code = 'baremetal.history.not_known'
    text = 'The traits of node {node} at {at} are not known: its history {begin}.'


class TraitUnknown(Failure):
    """The catalogue has no trait of this name."""

    status = 404
    code = 'baremetal.trait.unknown'
    text = "There is no trait '{trait}': no node has or had it, and it was never described."


class InstanceNotFound(Failure):
    """The instance has no node and no allocations that the caller may see."""

    status = 404
    code = 'baremetal.instance.not_found'
    text = 'Instance {instance} has neither a node nor allocations.'


class DriverNotFound(Failure):
    """The driver is not enabled."""

    status = 404
    code = 'baremetal.driver.not_found'
    text = 'Could not find the following driver(s) or hardware type(s): {driver}.'


class ConductorNotFound(Failure):
    """No worker ran on a host of this name within the last day."""

    status = 404
    code = 'baremetal.conductor.not_found'
    text = 'Conductor {conductor} could not be found.'


class NoValidHost(Failure):
    """Workers are alive, but none has the driver and the conductor group of the node."""

    status = 404
    code = 'baremetal.conductor.none'
    text = (
        'No valid host was found. Reason: No conductor service registered which supports driver {driver} for conductor '
        'group "{group}". Ensure the driver is valid and enabled.'
    )


class RecordNotFound(Failure):
    """No such chassis, port, portgroup, volume connector, volume target or allocation."""

    status = 404
    code = 'baremetal.record.not_found'
    text = '{what} {ident} could not be found.'


class AllocationNotFound(Failure):
    """No allocation holds the node."""

    status = 404
    code = 'baremetal.allocation.not_found'
    text = 'Allocation for node {node} was not found'


class ResourceNotFound(Failure):
    """The requested version has no resource at this URL."""

    status = 404
    code = 'baremetal.not_found'
    text = 'Resource could not be found.{hint}'


class AddressNotFound(Failure):
    """No version of the API has a resource at this URL."""

    status = 404
    code = 'baremetal.not_found'
    text = 'There is no resource at this URL.'
    routing = True


class NotImplementedHere(Failure):
    """Ironic has a resource at this URL, and this service has not."""

    status = 404
    code = 'baremetal.not_implemented'
    text = 'ironic-traits does not implement {path}.'


class MethodNotAllowed(Failure):
    """The resource does not support the method, or not at the requested version.

    :param allowed: the methods that it supports.
    """

    status = 405
    code = 'baremetal.method_not_allowed'
    routing = True

    def __init__(self, reason='The resource at this URL does not support this method.', allowed=()):
        super().__init__(reason=reason)
        self.allow = ', '.join(allowed)


class NotAcceptable(Failure):
    """The Accept header excludes JSON."""

    status = 406
    code = 'baremetal.version.not_supported'
    text = 'Responses are application/json, which the Accept header excludes.'
    routing = True


class VersionNotSupported(Failure):
    """The requested version is malformed or not supported."""

    status = 406
    code = 'baremetal.version.not_supported'
    routing = True


class VersionTooLow(Failure):
    """The request uses a feature of a later version."""

    status = 406
    code = 'baremetal.version.too_low'
    text = (
        'Request not acceptable: {what} needs API version {version} (request it with the header '
        'X-OpenStack-Ironic-API-Version: {version}). The minimal required API version should be {version}'
    )


class VersionTooHigh(Failure):
    """The request uses a feature that later versions have no more."""

    status = 406
    code = 'baremetal.version.too_high'
    text = 'Request not acceptable: {what} needs API version {version} or earlier.'


class NodeExists(Failure):
    """Another node has the same uuid or name."""

    status = 409
    code = 'baremetal.node.duplicate'
    text = 'A node with {what} {value} already exists.'


class RecordExists(Failure):
    """Another chassis, port, allocation, … has the same uuid or other unique field."""

    status = 409
    code = 'baremetal.record.duplicate'
    text = '{article} {what} {key} already exists.'

    def __init__(self, what, key):
        super().__init__(article='An' if what[0] in 'aeiou' else 'A', what=what, key=key)


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


class NodeAssociated(Failure):
    """The node is associated with an instance."""

    status = 409
    code = 'baremetal.node.associated'
    text = 'Node {node} is associated with instance {instance}.'


class InstanceAssociated(Failure):
    """The instance is associated with another node."""

    status = 409
    code = 'baremetal.instance.associated'
    text = 'Instance {instance} is already associated with a node, it cannot be associated with this other node {node}'


class NodeLocked(Failure):
    """The node is locked by work in progress, or another request changed it first."""

    status = 409
    code = 'baremetal.node.locked'
    text = 'Node {node} is locked by host {host}, please retry after the current operation is completed.'
    #: Whether the lock is likely to be released soon, so that waiting for it makes sense.
    is_short = True


class NodeWaiting(NodeLocked):
    """The node is not locked, but is in a state that lasts until work ends, which may take long."""

    is_short = False


class NodeNotLocked(Failure):
    """A request to break the lock of a node that is not locked."""

    status = 409
    code = 'baremetal.node.not_locked'
    text = 'Node {node} is not locked: no work on it is in progress.'


class NodeReserved(Failure):
    """The node is held for another instance."""

    status = 409
    code = 'baremetal.node.reserved'
    text = 'Node {node} is reserved for instance {instance} by reservation {reservation}{until}.'


class NodeAllocated(Failure):
    """The node is allocated to another consumer in the Placement API."""

    status = 409
    code = 'baremetal.node.allocated'
    text = 'Node {node} is allocated to consumer {consumer} in Placement.'


class ReservationUnknown(Failure):
    """The reservation in the request does not hold the node, or has expired."""

    status = 409
    code = 'baremetal.reservation.unknown'
    text = 'Node {node} is not held by reservation {reservation}.'


class InstanceReserved(Failure):
    """The instance has a reservation of a node that does not fit the request."""

    status = 409
    code = 'baremetal.instance.reserved'
    text = 'Instance {instance} already has a reservation of {node}, and that node {why}.'


class InstanceOnNode(Failure):
    """The instance is already on a node."""

    status = 409
    code = 'baremetal.instance.on_node'
    text = 'Instance {instance} is already on {node}.'


class InstanceUnavailable(Failure):
    """The instance has a reservation of a node, or is on one, that the caller may not see."""

    status = 409
    code = 'baremetal.instance.unavailable'
    text = 'No node can be reserved for instance {instance}.'


class NothingToReserve(Failure):
    """Too few nodes of a list can be reserved.

    :param needed: how many nodes the request needs.
    :param refusals: [(the node as the client named it, {'reason': …, 'message': …, …}), …], in the client's order.
    :param explanation: as for NoMatch, if the request has requirements; None if it has only the list.
    """

    status = 409
    code = 'baremetal.reservation.nothing'
    text = '{what} can be reserved: {summary}.'

    def __init__(self, needed, refusals, explanation=None):
        counts = Counter(refusal['reason'] for _, refusal in refusals)
        what = 'None of the nodes' if needed == 1 else f'Fewer than {needed} of the nodes'
        summary = ', '.join(f'{count} {reason}' for reason, count in counts.items()) or 'the list is too short'
        super().__init__(what=what, summary=summary)
        self.beside = {'reasons': [{'node': ident, **refusal} for ident, refusal in refusals]}
        if explanation:
            self.beside['explanation'] = explanation


class NoMatch(Failure):
    """Too few nodes match a request and can be reserved.

    :param needed: how many nodes the request needs.
    :param explanation: as ``inventory.explanations.explain`` returns it.
    """

    status = 409
    code = 'baremetal.reservation.no_match'
    text = '{matched} of {considered} nodes match, {needed} wanted. {rejected}{relaxed}'

    def __init__(self, needed, explanation):
        rejected = sorted(explanation['clauses'], key=lambda clause: -clause['rejected'])
        counts = ', '.join(f'{clause["clause"]} {clause["rejected"]}' for clause in rejected[:5] if clause['rejected'])
        relaxed = ''
        if explanation['relaxations']:
            first = explanation['relaxations'][0]
            relaxed = f' Without {" and ".join(first["drop"])}, {first["nodes"]} would match.'
        super().__init__(
            matched=explanation['matched'],
            considered=explanation['considered'],
            needed=f'{needed} {"is" if needed == 1 else "are"}',
            rejected=f'Rejected by {counts}.' if counts else 'There are no others.',
            relaxed=relaxed,
        )
        self.beside = {'explanation': explanation}


class ProviderTaken(Failure):
    """An existing resource provider prevents the node from becoming one."""

    status = 409
    code = 'baremetal.node.provider_taken'
    text = (
        'Node {node} cannot become a resource provider because of provider {provider}: its name is the uuid of the '
        'node, it has a parent, or it has allocations.'
    )


class ProviderInUse(Failure):
    """The resource provider of the node cannot be deleted, or change its resource class."""

    status = 409
    code = 'baremetal.node.provider_in_use'
    text = 'The resource provider of node {node} cannot be changed: {reason}.'


class InvalidState(Failure):
    """The provision state of the node does not allow the change."""

    status = 409
    code = 'baremetal.node.invalid_state'


class PowerOffDisabled(Failure):
    """The node must not be powered off: its disable_power_off is set."""

    status = 409
    code = 'baremetal.node.power_off_disabled'
    text = 'Failed to set node power state to {target}.'


class BodyTooLarge(Failure):
    """The request body is larger than [api] max_request_body_size."""

    status = 413
    code = 'baremetal.body_too_large'
    text = 'The request body is larger than {limit} bytes.'


class UnsupportedMediaType(Failure):
    """A request body without a JSON Content-Type, which a web page may have made a browser send."""

    status = 415
    code = 'baremetal.unsupported_media_type'
    text = 'The body was sent with {content_type}. Send it with "Content-Type: application/json".'


class HostNotAllowed(Failure):
    """The Host header does not have a name of the service. This is checked only under noauth."""

    status = 400
    code = 'baremetal.host_not_allowed'
    text = "The host name '{host}' is not one of this service. If it should be, add it to [api] allowed_hosts."


class Overloaded(Failure):
    """Nearly all threads of the process are blocked."""

    status = 503
    code = 'baremetal.overloaded'
    text = 'Too many requests are waiting. Try again in a moment.'


class DatabaseUnavailable(Failure):
    """The database cannot be reached, or a write timed out. The write may or may not have taken effect."""

    status = 503
    code = 'baremetal.database_unavailable'
    text = 'The database is not available at the moment. Check whether the request took effect before you retry it.'


class IdentityUnavailable(Failure):
    """Keystone cannot validate the token at the moment."""

    status = 503
    code = 'baremetal.identity_unavailable'
    text = 'The token cannot be validated at the moment: keystone does not respond.'
    routing = True


class UsersUnavailable(Failure):
    """The file of users cannot be read."""

    status = 503
    code = 'baremetal.identity_unavailable'
    text = 'The file of users cannot be read. The log has the cause, with the request id of this response.'
    routing = True


class GlanceUnavailable(Failure):
    """An image could not be looked up in Glance."""

    status = 503
    code = 'baremetal.glance_unavailable'
    text = 'Image {image} could not be looked up: Glance did not respond, or its response is not an image.'
