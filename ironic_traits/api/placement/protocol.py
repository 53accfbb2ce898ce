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
    version_header=microversions.HEADER,
    headers=microversions.headers,
    vary=('vary', microversions.HEADER.lower()),
    # Placement sends Cache-Control from 1.15 on (``api.placement.expose``). Its clients expect none before.
    cached=[],
    failure=errors.failure,
    failure_schema=errors.schema,
    takes_options=False,
    has_tags=False,
)
