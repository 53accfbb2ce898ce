"""Lookup of images in Glance, whose properties may require traits.

Images are not cached: their properties may change at any time, and an image is looked up only once for each boot.
"""

import itertools
import logging
import reprlib
from typing import Any

from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.uuids import canonical

LOG = logging.getLogger(__name__)


def image(context: Context, value: Any) -> Any:
    """Return an image with its properties, which are looked up in Glance when the request has only its id or name.

    :param value: {'id': uuid}, {'name': name}, {'properties': {…}}, or any other JSON value that a client sent.
    :returns: {'properties': {…}} for an id or a name without properties; any other value unchanged.
    :raises failures.InvalidInput: there is no such image, several have the name, or [glance] endpoint_override is not
        set.
    :raises failures.GlanceUnavailable: Glance does not respond, or its response is not an image.
    """
    if not isinstance(value, dict) or value.get('properties') is not None:
        return value
    image_id, name = value.get('id'), value.get('name')
    if image_id is not None:
        if not isinstance(image_id, str) or not uuidutils.is_uuid_like(image_id):
            raise failures.InvalidInput(reason=f"'id' of the image must be a uuid, not {reprlib.repr(image_id)}.")
        ident = canonical(image_id)
    elif isinstance(name, str) and name:
        ident = name
    else:
        return value
    if not context.conf.glance.endpoint_override:
        raise failures.InvalidInput(
            reason=f'Image {ident} cannot be looked up, because [glance] endpoint_override is not set. '
            "Send the image's 'properties' instead."
        )
    return {'properties': _properties(context, ident, by_name=image_id is None)}


def _properties(context: Context, ident: str, by_name: bool) -> dict[str, Any]:
    # Imported late: openstacksdk takes half a second and many MiB, which a service without Glance does not need.
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import NotFoundException, SDKException

    try:
        images = _connection(context).image
        if by_name:
            # Glance takes "in:" at the beginning of a name for an operator.
            same = (each for each in images.images(name=ident) if each.name == ident)
            found = list(itertools.islice(same, 2))
            if len(found) != 1:
                reason = f'Several images of Glance have the name {ident}. Use an id.' if found else _missing(ident)
                raise failures.InvalidInput(reason=reason)
            return found[0].properties
        response = images.get_image(ident)
    except NotFoundException as error:
        raise failures.InvalidInput(reason=_missing(ident)) from error
    except (SDKException, ClientException, TypeError, AttributeError, ValueError, LookupError, RecursionError) as error:
        # openstacksdk raises the last five for a response that is not an image.
        LOG.warning('Image %s could not be looked up: %s: %s', ident, type(error).__name__, error)
        raise failures.GlanceUnavailable(image=ident) from error
    if response.status is None:
        LOG.warning('Image %s could not be looked up: the response is not an image', ident)
        raise failures.GlanceUnavailable(image=ident)
    return response.properties


def _missing(ident: str) -> str:
    return f'Glance has no image {ident}.'


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
