"""Images, looked up in Glance: what somebody wants of a node may stand in the properties of an image.

Nothing is kept: a property may change at any time, and an image is asked for once in a boot.
"""

import logging
import reprlib
import uuid

from oslo_utils import uuidutils

from ironic_traits import failures

LOG = logging.getLogger(__name__)


def image(context, given):
    """Give an image with its properties; they are looked up when nothing but its id is given.

    :param given: {'id': uuid} or {'properties': {…}}, or whatever else a client sent.
    :returns: {'properties': {…}} in the first case, else what was given.
    :raises failures.InvalidInput: there is no such image, or images cannot be looked up here.
    :raises failures.GlanceUnavailable: Glance does not answer, or not with an image.
    """
    if not isinstance(given, dict) or given.get('id') is None or given.get('properties') is not None:
        return given
    image_id = given['id']
    if not isinstance(image_id, str) or not uuidutils.is_uuid_like(image_id):
        raise failures.InvalidInput(reason=f"'id' of the image is a uuid, and not {reprlib.repr(image_id)}.")
    image_id = str(uuid.UUID(image_id))
    if not context.conf.glance.endpoint_override:
        raise failures.InvalidInput(
            reason=f'Image {image_id} cannot be looked up, because [glance] endpoint_override is not set here. '
            "Give the image's 'properties'."
        )
    return {'properties': _properties(context, image_id)}


def _properties(context, image_id):
    # Half a second and many MiB, which a service that looks up no image does without.
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import NotFoundException, SDKException

    try:
        found = _connection(context).image.get_image(image_id)
    except NotFoundException as error:
        raise failures.InvalidInput(reason=f'Glance has no image {image_id}.') from error
    except (SDKException, ClientException, TypeError, AttributeError, RecursionError) as error:
        # The last three are what becomes of JSON that is no image.
        LOG.warning('Image %s could not be looked up: %s: %s', image_id, type(error).__name__, error)
        raise failures.GlanceUnavailable(image=image_id) from error
    if found.status is None:
        LOG.warning('Image %s could not be looked up: what came is no image', image_id)
        raise failures.GlanceUnavailable(image=image_id)
    return found.properties


def _connection(context):
    """Connect to Glance, as who asks: with the token of the request."""
    import openstack.connection
    from keystoneauth1 import loading, noauth, token_endpoint

    endpoint, token = context.conf.glance.endpoint_override, context.auth_token
    auth = token_endpoint.Token(endpoint, token) if token else noauth.NoAuth(endpoint=endpoint)
    return openstack.connection.Connection(
        session=loading.load_session_from_conf_options(context.conf, 'glance', auth=auth),
        image_endpoint_override=endpoint,
        # The client waits, and may ask again by itself.
        image_status_code_retries=0,
    )
