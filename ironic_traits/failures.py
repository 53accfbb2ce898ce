"""Every failure that a client can be told of: its HTTP status, its stable code, its sentence.

Code raises one of these classes; ``api.rendering`` makes the body.  ``from_exception`` turns the exceptions of the
libraries below (the database's, WSME's) into one of them, and everything else into InternalError, which carries no text
of its cause.
"""

from collections import Counter
from typing import Any

import webob.exc
import wsme.exc

from ironic_traits.db import outage

#: Most characters of a sentence.
MAX_LENGTH = 2000


class Failure(Exception):
    """What went wrong, for the client.

    :param facts: what the class's sentence names; kept as ``facts``.
    """

    status = 500
    code = 'baremetal.internal_error'
    text = '{reason}'
    #: What stands beside the sentence in the body, {key: value}.
    beside: dict[str, Any] = {}
    #: Whether it stands for what Ironic finds before a controller is reached: its bodies have another shape then.
    routing = False
    #: The Allow header of the answer; None for none.
    allow: str | None = None

    def __init__(self, **facts):
        self.facts = facts
        # What a client sent may be in it, and of any length.
        super().__init__(self.text.format(**facts)[:MAX_LENGTH])


class InternalError(Failure):
    """A defect of the service.  The log has the rest, under the request id."""

    text = 'The service failed; its log says why, under the request id of this answer.'


class InvalidInput(Failure):
    """Something in the request is not what it must be."""

    status = 400
    code = 'baremetal.invalid_input'


class UnexpectedArguments(Failure):
    """Query arguments that the route does not take."""

    status = 400
    code = 'baremetal.unexpected_arguments'
    text = 'Unexpected arguments: {names}'


class InvalidIdent(Failure):
    """What stands in the path where a uuid or a name must stand."""

    status = 400
    code = 'baremetal.invalid_input'
    text = 'Expected UUID or name for node: {ident}'
    routing = True


class InvalidTrait(Failure):
    """A name that a node cannot carry."""

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
    """A trait is required and forbidden by one request."""

    status = 400
    code = 'baremetal.match.conflict'
    text = '{what} is required by {here} and forbidden by {there}.'


class TooManyTraits(Failure):
    """More traits than a node may carry."""

    status = 400
    code = 'baremetal.trait.too_many'
    text = (
        'Could not modify traits for node {node} as it would exceed the maximum number of traits per node '
        '({count} vs. {limit}); the first one too many is {trait}'
    )


class NotEmpty(Failure):
    """Something still belongs to what was to be deleted or moved."""

    status = 400
    code = 'baremetal.not_empty'
    text = 'Cannot complete the requested action because {what} contains {members}.'


class VifNotAttached(Failure):
    """The node has no such VIF."""

    status = 400
    code = 'baremetal.vif.not_attached'
    text = 'Unable to detach VIF {vif} from node {node} because it is not attached to it.'


class InvalidTransition(Failure):
    """The node's state does not know the verb."""

    status = 400
    code = 'baremetal.node.invalid_transition'
    text = 'The requested action "{action}" can not be performed on node "{node}" while it is in state "{state}".'


class NodeInMaintenance(Failure):
    """The node is in maintenance, and the verb wants it out of it."""

    status = 400
    code = 'baremetal.node.in_maintenance'
    text = "The provisioning operation can't be performed on node {node} because it's in maintenance mode."


class NodeRetired(Failure):
    """The node is retired, and is not to become available."""

    status = 400
    code = 'baremetal.node.retired'
    text = "The providing operation can't be performed on node {node} because it is retired."


class DeployRefused(Failure):
    """A deploy-validate hook says no."""

    status = 400
    code = 'baremetal.node.deploy_refused'
    text = 'Failed to validate deploy or power info for node {node}: {reason}'


class Unauthorized(Failure):
    """Nobody known asks."""

    status = 401
    code = 'baremetal.unauthorized'
    text = 'The request needs somebody who is known: a valid token, or a user with the right password.'
    routing = True


class Forbidden(Failure):
    """Policy says no."""

    status = 403
    code = 'baremetal.forbidden'
    text = 'Access was denied to the following resource: {rule}'


class NodeProtected(Failure):
    """The node is protected."""

    status = 403
    code = 'baremetal.node.protected'
    text = 'Node {node} is protected and cannot be undeployed, rebuilt or deleted'


class NodeNotFound(Failure):
    """No such node (for this caller)."""

    status = 404
    code = 'baremetal.node.not_found'
    text = 'Node {node} could not be found.'


class ReservationNotFound(Failure):
    """No such reservation, or it has expired."""

    status = 404
    code = 'baremetal.reservation.not_found'
    text = 'Reservation {reservation} could not be found.'


class TraitNotFound(Failure):
    """The node does not carry the trait."""

    status = 404
    code = 'baremetal.trait.not_found'
    text = "Node {node} doesn't have a trait '{trait}'"


class InstanceNotFound(Failure):
    """The instance holds nothing (that this caller may see)."""

    status = 404
    code = 'baremetal.instance.not_found'
    text = 'Instance {instance} holds no node, and nothing is allocated to it.'


class DriverNotFound(Failure):
    """No such driver is enabled."""

    status = 404
    code = 'baremetal.driver.not_found'
    text = 'Could not find the following driver(s) or hardware type(s): {driver}.'


class RecordNotFound(Failure):
    """No such chassis, port, portgroup, volume connector or volume target."""

    status = 404
    code = 'baremetal.record.not_found'
    text = '{what} {ident} could not be found.'


class ResourceNotFound(Failure):
    """Nothing is served there at the version asked for."""

    status = 404
    code = 'baremetal.not_found'
    text = 'Resource could not be found.{hint}'


class AddressNotFound(Failure):
    """Nothing is served at the address."""

    status = 404
    code = 'baremetal.not_found'
    text = 'Nothing is served at this address.'
    routing = True


class MethodNotAllowed(Failure):
    """The address is there, the method is not, or not at the version asked for.

    :param allowed: the methods that are.
    """

    status = 405
    code = 'baremetal.method_not_allowed'
    routing = True

    def __init__(self, reason='This method is not served at this address.', allowed=()):
        super().__init__(reason=reason)
        self.allow = ', '.join(allowed)


class NotAcceptable(Failure):
    """The Accept header allows no answer that could be given."""

    status = 406
    code = 'baremetal.version.not_supported'
    text = 'Answers are application/json: the Accept header allows no such answer.'
    routing = True


class VersionNotSupported(Failure):
    """The version asked for is outside the range, or none."""

    status = 406
    code = 'baremetal.version.not_supported'
    routing = True


class VersionTooLow(Failure):
    """What is asked for came with a later version."""

    status = 406
    code = 'baremetal.version.too_low'
    text = (
        'Request not acceptable: {what} needs API version {version} (ask for it with the header '
        'X-OpenStack-Ironic-API-Version: {version}). The minimal required API version should be {version}'
    )


class NodeExists(Failure):
    """Another node has the uuid or the name."""

    status = 409
    code = 'baremetal.node.duplicate'
    text = 'A node with {what} {value} already exists.'


class RecordExists(Failure):
    """Another chassis, port, portgroup, volume connector or volume target has the uuid, or what else is unique."""

    status = 409
    code = 'baremetal.record.duplicate'
    text = 'A {what} {key} already exists.'


class VifAlreadyAttached(Failure):
    """The node has the VIF already."""

    status = 409
    code = 'baremetal.vif.attached'
    text = 'Unable to attach VIF because VIF {vif} is already attached to Ironic Node {node}'


class NoStandalonePorts(Failure):
    """The portgroup takes no port that boots by itself."""

    status = 409
    code = 'baremetal.portgroup.not_standalone'
    text = (
        "Port group {portgroup} doesn't support standalone ports. This port cannot be created as a member of that "
        "portgroup as the port's 'pxe_enabled' field was set to True."
    )


class OtherNetwork(Failure):
    """The ports of a portgroup are on one physical network."""

    status = 409
    code = 'baremetal.portgroup.other_network'
    text = (
        'Port with physical network {network} cannot become a member of port group {portgroup} which has ports in '
        'physical network {others}.'
    )


class NodeAssociated(Failure):
    """The node is held by an instance."""

    status = 409
    code = 'baremetal.node.associated'
    text = 'Node {node} is associated with instance {instance}.'


class InstanceAssociated(Failure):
    """The instance holds another node."""

    status = 409
    code = 'baremetal.instance.associated'
    text = 'Instance {instance} is already associated with a node, it cannot be associated with this other node {node}'


class NodeLocked(Failure):
    """Work on the node goes on, or another request was quicker."""

    status = 409
    code = 'baremetal.node.locked'
    text = 'Node {node} is locked by host {host}, please retry after the current operation is completed.'
    #: Whether the lock is likely to go soon, so that it is worth waiting for.
    is_short = True


class NodeWaiting(NodeLocked):
    """Nobody holds the node, but its state waits for the end of work that may take long."""

    is_short = False


class NodeNotLocked(Failure):
    """A lock was to be broken, and no work on the node goes on."""

    status = 409
    code = 'baremetal.node.not_locked'
    text = 'Node {node} is not locked: no work on it goes on.'


class NodeReserved(Failure):
    """The node is held for another instance."""

    status = 409
    code = 'baremetal.node.reserved'
    text = 'Node {node} is reserved for instance {instance} by reservation {reservation}{until}.'


class NodeAllocated(Failure):
    """The node is allocated to a consumer of the Placement API, and to no other."""

    status = 409
    code = 'baremetal.node.allocated'
    text = 'Node {node} is allocated to consumer {consumer} in Placement.'


class ReservationUnknown(Failure):
    """The reservation that was shown is not the node's, or has expired."""

    status = 409
    code = 'baremetal.reservation.unknown'
    text = 'Node {node} is not held by reservation {reservation}.'


class InstanceReserved(Failure):
    """The instance holds a node by a reservation, and none such as is wanted."""

    status = 409
    code = 'baremetal.instance.reserved'
    text = 'Instance {instance} holds {node} by a reservation, and that node {why}.'


class InstanceOnNode(Failure):
    """The instance is on a node already."""

    status = 409
    code = 'baremetal.instance.on_node'
    text = 'Instance {instance} is already on {node}.'


class InstanceUnavailable(Failure):
    """The instance holds a node, or is on one, that the caller may not see."""

    status = 409
    code = 'baremetal.instance.unavailable'
    text = 'No node can be given to instance {instance}.'


class NothingToReserve(Failure):
    """Too few nodes of a list can be held.

    :param needed: how many are wanted.
    :param refusals: [(the node as the client named it, {'reason': …, 'message': …, …}), …], in the client's order.
    :param explanation: of a request, as for NoMatch; None where nothing but the list is given.
    """

    status = 409
    code = 'baremetal.reservation.nothing'
    text = '{what} can be reserved: {summary}.'

    def __init__(self, needed, refusals, explanation=None):
        counted = Counter(refusal['reason'] for _, refusal in refusals)
        what = 'None of the nodes' if needed == 1 else f'Fewer than {needed} of the nodes'
        summary = ', '.join(f'{count} {reason}' for reason, count in counted.items()) or 'the list is too short'
        super().__init__(what=what, summary=summary)
        self.beside = {'reasons': [{'node': ident, **refusal} for ident, refusal in refusals]}
        if explanation:
            self.beside['explanation'] = explanation


class NoMatch(Failure):
    """Too few nodes match a request, and can be held.

    :param needed: how many are wanted.
    :param explanation: what ``inventory.explanations.explain`` gave.
    """

    status = 409
    code = 'baremetal.reservation.no_match'
    text = '{matched} of {considered} nodes match, {needed} wanted. {rejected}{relaxed}'

    def __init__(self, needed, explanation):
        rejected = sorted(explanation['clauses'], key=lambda clause: -clause['rejected'])
        told = ', '.join(f'{clause["clause"]} {clause["rejected"]}' for clause in rejected[:5] if clause['rejected'])
        relaxed = ''
        if explanation['relaxations']:
            first = explanation['relaxations'][0]
            relaxed = f' Without {" and ".join(first["drop"])}, {first["nodes"]} would match.'
        super().__init__(
            matched=explanation['matched'],
            considered=explanation['considered'],
            needed=f'{needed} {"is" if needed == 1 else "are"}',
            rejected=f'Rejected by {told}.' if told else 'There are no others.',
            relaxed=relaxed,
        )
        self.beside = {'explanation': explanation}


class ProviderTaken(Failure):
    """Another resource provider has what the node's must have."""

    status = 409
    code = 'baremetal.node.provider_taken'
    text = (
        'Node {node} cannot be a resource provider: {provider} has its uuid for a name, stands below another one, or '
        'is allocated.'
    )


class ProviderInUse(Failure):
    """The resource provider that the node is cannot go, or change its class."""

    status = 409
    code = 'baremetal.node.provider_in_use'
    text = 'The resource provider of node {node} cannot be changed so: {reason}.'


class InvalidState(Failure):
    """The node's provision state forbids it."""

    status = 409
    code = 'baremetal.node.invalid_state'


class BodyTooLarge(Failure):
    """The request body is larger than [api] max_request_body_size."""

    status = 413
    code = 'baremetal.body_too_large'
    text = 'The request body is larger than {limit} bytes.'


class UnsupportedMediaType(Failure):
    """The request body is not called JSON, where a browser may have sent it."""

    status = 415
    code = 'baremetal.unsupported_media_type'
    text = 'The body came with {content_type}: send it with "Content-Type: application/json".'


class HostNotAllowed(Failure):
    """The Host header has a name that is not known to be the service's, where everyone may do everything."""

    status = 400
    code = 'baremetal.host_not_allowed'
    text = "The host name '{host}' is not one of this service. If it should be: [api] allowed_hosts."


class Overloaded(Failure):
    """Nearly all threads of the process wait for something."""

    status = 503
    code = 'baremetal.overloaded'
    text = 'Too many requests are waiting. Try again in a moment.'


class DatabaseUnavailable(Failure):
    """The database cannot be reached, or did not let a write through in time; nothing is known to be written."""

    status = 503
    code = 'baremetal.database_unavailable'
    text = 'The database is not available at the moment. Look whether the request took effect before you repeat it.'


class IdentityUnavailable(Failure):
    """Keystone cannot be asked who asks."""

    status = 503
    code = 'baremetal.identity_unavailable'
    text = 'It cannot be found out at the moment who asks: keystone does not answer.'
    routing = True


class UsersUnavailable(Failure):
    """The file of users cannot be read."""

    status = 503
    code = 'baremetal.identity_unavailable'
    text = 'The file of users cannot be read; the log says why, under the request id of this answer.'
    routing = True


class GlanceUnavailable(Failure):
    """An image that was named by its id could not be looked up."""

    status = 503
    code = 'baremetal.glance_unavailable'
    text = 'Image {image} could not be looked up: Glance did not answer, or not with an image.'


def from_exception(error):
    """Give the Failure that stands for any exception.

    :returns: the exception itself when it is a Failure; InternalError when nobody expected it.
    """
    if isinstance(error, Failure):
        return error
    if isinstance(error, webob.exc.HTTPException):
        return _routing(error)
    if isinstance(error, wsme.exc.UnknownAttribute):
        return InvalidInput(reason=f'Unknown fields: {", ".join(sorted(error.attributes))}')
    if isinstance(error, wsme.exc.ClientSideError):
        return InvalidInput(reason=error.faultstring)
    if outage.is_unavailable(error):
        return DatabaseUnavailable()
    return InternalError()


def _routing(error):
    """Give the failure that stands for what pecan found."""
    if error.status_int == 405:
        return MethodNotAllowed(allowed=getattr(error, 'allow', None) or ())
    found = {404: AddressNotFound, 406: NotAcceptable}.get(error.status_int)
    return found() if found else InvalidInput(reason=error.detail or error.explanation)
