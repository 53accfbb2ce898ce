"""The conventions of the Placement API."""

from ironic_traits.api.placement import errors, microversions
from ironic_traits.api.protocol import DESCRIPTION, Protocol

PLACEMENT = Protocol(
    name='placement',
    title='Placement API',
    prefix='/placement',
    minimum=microversions.MINIMUM,
    maximum=microversions.MAXIMUM,
    public=('', '/', DESCRIPTION),
    negotiate=microversions.negotiate,
    # Our additions to this API have no versions.
    names_additions=lambda headers: False,
    version_header=microversions.HEADER,
    headers=lambda minor, has_additions: microversions.headers(minor),
    vary=('vary', microversions.HEADER.lower()),
    # Placement sends Cache-Control from 1.15 on (``api.placement.expose``). Its clients expect none before.
    cached=[],
    failure=errors.failure,
    failure_schema=errors.schema,
    takes_options=False,
    has_tags=False,
)
