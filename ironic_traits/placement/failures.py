"""Every failure that a client of the Placement API can be told of, in the words of the real service.

``code`` is shown from version 1.23 on.
"""

from ironic_traits.failures import Failure


class PlacementFailure(Failure):
    """What went wrong, for a client of the Placement API."""

    code = 'placement.undefined_code'


class BadRequest(PlacementFailure):
    """Something in the request is not what it must be."""

    status = 400


class ConflictingTraits(BadRequest):
    """Traits are required and forbidden at once."""

    text = 'Conflicting required and forbidden traits found in the following traits keys: {keys}'


class MissingValue(BadRequest):
    """A query argument is missing."""

    code = 'placement.query.missing_value'


class BadValue(BadRequest):
    """A query argument has a value that it must not have."""

    code = 'placement.query.bad_value'


class DuplicateKey(BadRequest):
    """A query argument is there twice that may be there once."""

    code = 'placement.query.duplicate_key'


class InvalidInventory(BadRequest):
    """Nothing of the inventory could ever be had."""

    text = "Invalid inventory for '{name}' on resource provider '{uuid}'. The reserved value is {how} total."


class NotFound(PlacementFailure):
    """There is no such thing, or not at this version."""

    status = 404


class ProviderNotFound(NotFound):
    """No such resource provider."""

    text = 'No resource provider with uuid {uuid} found'


class TraitNotFound(NotFound):
    """No such trait."""

    text = 'No such trait(s): {names}.'


class ResourceClassNotFound(NotFound):
    """No such resource class."""

    text = 'No such resource class {name}.'


class MethodNotAllowed(PlacementFailure):
    """The resource is there, the method is not, at this version."""

    status = 405


class VersionNotSupported(PlacementFailure):
    """The version asked for is outside the range."""

    status = 406
    text = 'Invalid microversion: {reason}'

    def __init__(self, reason, minimum, maximum):
        super().__init__(reason=reason)
        self.beside = {'max_version': maximum, 'min_version': minimum}


class NotAcceptable(PlacementFailure):
    """The Accept header allows no JSON."""

    status = 406
    text = 'Only application/json is provided'


class Conflict(PlacementFailure):
    """The state of things forbids it."""

    status = 409


class ConcurrentUpdate(Conflict):
    """The generation shown is not the provider's any more."""

    code = 'placement.concurrent_update'


class DuplicateProvider(Conflict):
    """Another provider has the uuid or the name."""

    code = 'placement.duplicate_name'
    text = 'Conflicting resource provider {what} already exists.'


class ProviderInUse(Conflict):
    """Something is taken from the provider, or it is a node."""

    code = 'placement.resource_provider.inuse'
    text = 'Unable to delete resource provider {uuid}: {reason}'


class ProviderHasChildren(Conflict):
    """The provider is the parent of others."""

    code = 'placement.resource_provider.cannot_delete_parent'
    text = 'Unable to delete parent resource provider {uuid}: It has child resource providers.'


class InventoryInUse(Conflict):
    """Something is taken from the inventory."""

    code = 'placement.inventory.inuse'
    text = "Inventory for '{classes}' on resource provider '{uuid}' in use."


class UnknownProvider(BadRequest):
    """Something is wanted of a provider that is not there."""

    text = "Allocation for resource provider '{uuid}' that does not exist."


class InventoryInvalid(Conflict):
    """The provider has no inventory of the class."""

    text = "Inventory for '{name}' on resource provider '{uuid}' invalid."


class CapacityExceeded(Conflict):
    """There is not so much left."""

    text = (
        "Unable to create allocation for '{name}' on resource provider '{uuid}'. The requested amount would exceed "
        'the capacity.'
    )


class ConstraintsViolated(Conflict):
    """So much, or so little, cannot be had at once."""

    text = (
        "Unable to create allocation for '{name}' on resource provider '{uuid}'. The requested amount would violate "
        'inventory constraints.'
    )


class ReshapedProviderNotFound(BadRequest):
    """An inventory is wanted of a provider that is not there."""

    code = 'placement.resource_provider.not_found'


class UnsupportedMediaType(PlacementFailure):
    """The body came as something else than JSON."""

    status = 415
    text = 'The media type {media_type} is not supported, use application/json'
