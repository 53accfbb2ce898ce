"""The failures that clients see: each has an HTTP status, a stable code and a message.

Code raises one of these classes. ``api.exceptions`` maps the exceptions of libraries to them, and answers the request.
"""

from ironic_traits.failures.base import (
    Failure,
    InternalError,
    InvalidInput,
)
from ironic_traits.failures.holders import (
    AllocationNotFound,
    InstanceAssociated,
    InstanceNotFound,
    InstanceOnNode,
    InstanceReserved,
    InstanceUnavailable,
    NodeAllocated,
    NodeReserved,
    NoMatch,
    NothingToReserve,
    ReservationNotFound,
    ReservationUnknown,
)
from ironic_traits.failures.inspection import PreviewOutdated
from ironic_traits.failures.nodes import (
    ConductorNotFound,
    DeployRefused,
    DriverNotFound,
    HistoryNotFound,
    InvalidState,
    InvalidTransition,
    InventoryNotFound,
    NodeAssociated,
    NodeExists,
    NodeInMaintenance,
    NodeLocked,
    NodeNotFound,
    NodeNotLocked,
    NodeProtected,
    NodeRetired,
    NodeWaiting,
    NoValidHost,
    PowerOffDisabled,
    ProviderInUse,
    ProviderTaken,
)
from ironic_traits.failures.records import (
    NoStandalonePorts,
    NotEmpty,
    OtherNetwork,
    RecordExists,
    RecordNotFound,
    VifAlreadyAttached,
    VifNotAttached,
)
from ironic_traits.failures.requests import (
    AddressNotFound,
    BodyTooLarge,
    DatabaseUnavailable,
    Forbidden,
    GlanceUnavailable,
    HostNotAllowed,
    IdentityUnavailable,
    InvalidIdent,
    MethodNotAllowed,
    NotAcceptable,
    NotImplementedHere,
    Overloaded,
    ResourceNotFound,
    TokenOutdated,
    Unauthorized,
    UnexpectedArguments,
    UnsupportedMediaType,
    UsersUnavailable,
    VersionNotSupported,
    VersionTooHigh,
    VersionTooLow,
)
from ironic_traits.failures.traits import (
    ConflictingTraits,
    EditExceedsLimit,
    EditForbidden,
    EditOutdated,
    InvalidTrait,
    SourceNotFound,
    TooManyTraits,
    TraitNotFound,
    TraitNotHeld,
    TraitsNotKnown,
    TraitUnknown,
    TraitVetoed,
    VetoNotFound,
)
