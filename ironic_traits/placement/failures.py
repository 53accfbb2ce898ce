"""The failures of the Placement API, with the messages of Placement.

Responses have the ``code`` from version 1.23 on.
"""

from ironic_traits.failures import Failure


class PlacementFailure(Failure):
    """A failure in the format of the Placement API."""

    code = 'placement.undefined_code'


class BadRequest(PlacementFailure):
    """The request is not valid."""

    status = 400


class ConflictingTraits(BadRequest):
    """Traits are both required and forbidden."""

    text = 'Conflicting required and forbidden traits found in the following traits keys: {keys}'


class MissingValue(BadRequest):
    """A query parameter is missing."""

    code = 'placement.query.missing_value'


class BadValue(BadRequest):
    """A query parameter has an invalid value."""

    code = 'placement.query.bad_value'


class DuplicateKey(BadRequest):
    """A query parameter is repeated, and may not be."""

    code = 'placement.query.duplicate_key'


class InvalidInventory(BadRequest):
    """The reserved amount of the inventory leaves nothing to allocate."""

    text = "Invalid inventory for '{name}' on resource provider '{uuid}'. The reserved value is {how} total."


class NotFound(PlacementFailure):
    """The resource does not exist, or not in this version."""

    status = 404


class ProviderNotFound(NotFound):
    """The resource provider does not exist."""

    text = 'No resource provider with uuid {uuid} found'


class TraitNotFound(NotFound):
    """A trait does not exist."""

    text = 'No such trait(s): {names}.'


class ResourceClassNotFound(NotFound):
    """The resource class does not exist."""

    text = 'No such resource class {name}.'


class MethodNotAllowed(PlacementFailure):
    """The resource does not have the method in this version."""

    status = 405


class VersionNotSupported(PlacementFailure):
    """The requested version is not supported."""

    status = 406
    text = 'Invalid microversion: {reason}'

    def __init__(self, reason: str, minimum: str, maximum: str) -> None:
        super().__init__(reason=reason)
        self.beside = {'max_version': maximum, 'min_version': minimum}


class NotAcceptable(PlacementFailure):
    """The Accept header does not allow JSON."""

    status = 406
    text = 'Only application/json is provided'


class Conflict(PlacementFailure):
    """The request conflicts with the present state."""

    status = 409


class NodeNotHeld(Conflict):
    """A mirrored node is not held in its cloud for the consumer, as it must be before it is allocated."""

    text = 'Unable to allocate inventory: node {node} cannot be held in its cloud {cloud}: {reason}'


class ConcurrentUpdate(Conflict):
    """The generation in the request is not the present one."""

    code = 'placement.concurrent_update'


class DuplicateProvider(Conflict):
    """Another resource provider has the uuid or the name."""

    code = 'placement.duplicate_name'
    text = 'Conflicting resource provider {what} already exists.'


class ProviderInUse(Conflict):
    """The resource provider has allocations, or belongs to a node."""

    code = 'placement.resource_provider.inuse'
    text = 'Unable to delete resource provider {uuid}: {reason}'


class ProviderHasChildren(Conflict):
    """The resource provider is the parent of others."""

    code = 'placement.resource_provider.cannot_delete_parent'
    text = 'Unable to delete parent resource provider {uuid}: It has child resource providers.'


class InventoryInUse(Conflict):
    """The inventory has allocations."""

    code = 'placement.inventory.inuse'
    text = "Inventory for '{classes}' on resource provider '{uuid}' in use."


class UnknownProvider(BadRequest):
    """An allocation names a resource provider that does not exist."""

    text = "Allocation for resource provider '{uuid}' that does not exist."


class InventoryInvalid(Conflict):
    """An allocation names a resource class of which the resource provider has no inventory."""

    text = "Inventory for '{name}' on resource provider '{uuid}' invalid."


class CapacityExceeded(Conflict):
    """An allocation requests more than the free capacity."""

    text = (
        "Unable to create allocation for '{name}' on resource provider '{uuid}'. The requested amount would exceed "
        'the capacity.'
    )


class ConstraintsViolated(Conflict):
    """An allocation violates ``min_unit``, ``max_unit`` or ``step_size``."""

    text = (
        "Unable to create allocation for '{name}' on resource provider '{uuid}'. The requested amount would violate "
        'inventory constraints.'
    )


class ReshapedProviderNotFound(BadRequest):
    """A reshape has inventories of a resource provider that does not exist."""

    code = 'placement.resource_provider.not_found'


class UnsupportedMediaType(PlacementFailure):
    """The Content-Type of the body is not JSON."""

    status = 415
    text = 'The media type {media_type} is not supported, use application/json'
