"""Lookup of images in Glance, whose properties may require traits.

Images are not cached: their properties may change at any time, and an image is looked up only once for each boot.
"""

import logging
import reprlib
from typing import Any

from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.uuids import canonical

LOG = logging.getLogger(__name__)


def image(context: Context, value: Any) -> Any:
    """Return an image with its properties, which are looked up in Glance when the request has only an id.

    :param value: {'id': uuid}, {'properties': {…}}, or any other JSON value that a client sent.
    :returns: {'properties': {…}} for an id without properties; any other value unchanged.
    :raises failures.InvalidInput: there is no such image, or [glance] endpoint_override is not set.
    :raises failures.GlanceUnavailable: Glance does not respond, or its response is not an image.
    """
    if not isinstance(value, dict) or value.get('id') is None or value.get('properties') is not None:
        return value
    image_id = value['id']
    if not isinstance(image_id, str) or not uuidutils.is_uuid_like(image_id):
        raise failures.InvalidInput(reason=f"'id' of the image must be a uuid, not {reprlib.repr(image_id)}.")
    image_id = canonical(image_id)
    if not context.conf.glance.endpoint_override:
        raise failures.InvalidInput(
            reason=f'Image {image_id} cannot be looked up, because [glance] endpoint_override is not set. '
            "Send the image's 'properties' instead."
        )
    return {'properties': _properties(context, image_id)}


def _properties(context: Context, image_id: str) -> dict[str, Any]:
    # Imported late: openstacksdk takes half a second and many MiB, which a service without Glance does not need.
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import NotFoundException, SDKException

    try:
        response = _connection(context).image.get_image(image_id)
    except NotFoundException as error:
        raise failures.InvalidInput(reason=f'Glance has no image {image_id}.') from error
    except (SDKException, ClientException, TypeError, AttributeError, RecursionError) as error:
        # openstacksdk raises the last three for JSON that is not an image.
        LOG.warning('Image %s could not be looked up: %s: %s', image_id, type(error).__name__, error)
        raise failures.GlanceUnavailable(image=image_id) from error
    if response.status is None:
        LOG.warning('Image %s could not be looked up: the response is not an image', image_id)
        raise failures.GlanceUnavailable(image=image_id)
    return response.properties


def _connection(context: Context) -> Any:
    """Return a connection to Glance with the token of the request."""
    import openstack.connection
    from keystoneauth1 import loading, noauth, token_endpoint

    endpoint, token = context.conf.glance.endpoint_override, context.auth_token
    auth = token_endpoint.Token(endpoint, token) if token else noauth.NoAuth(endpoint=endpoint)
    return openstack.connection.Connection(
        session=loading.load_session_from_conf_options(context.conf, 'glance', auth=auth),
        image_endpoint_override=endpoint,
        # No retries: the client is waiting, and can retry itself.
        image_status_code_retries=0,
    )
