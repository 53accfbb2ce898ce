"""The images that nodes boot: the ISO image of an image in Glance, as nova and others name it, and the config drive."""

import orjson
from oslo_utils import uuidutils

from ironic_traits import failures, masks
from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.provisioning import node_states
from ironic_traits.peers import glance

#: The property of an image in Glance with the URL of an ISO image, as in Ironic.
PROPERTY = 'boot_iso_id'


def of_instance(context: Context, ident: str, instance: Values) -> Values:
    """Return what a request adds to the ``instance_info`` of a node, for a node that boots an ISO image.

    :param instance: what the request says of the instance: {'configdrive': text or JSON object} or {}.
    :returns: with a text for a config drive that is an object: an image for such a node, JSON for others. If the ISO
        image is that of an image in Glance, with ``boot_iso`` and ``original_image_source``, the uuid of the image.
    :raises failures.InvalidInput: the image has no ISO image, or the config drive cannot be used.
    :raises failures.GlanceUnavailable: Glance does not respond.
    """
    node = node_states.get(context, ident)
    driver = context.service.drivers.get(node['driver'])
    if not driver or driver.simulates or node['deploy_interface'] != 'ramdisk':
        is_object = isinstance(instance.get('configdrive'), dict)
        return {'configdrive': orjson.dumps(instance['configdrive']).decode()} if is_object else instance
    return _with_disk(node, instance) | _image_in_glance(context, node['instance_info'])


def _with_disk(node: Values, instance: Values) -> Values:
    known = node['instance_info'].get('configdrive')
    if not instance and known == masks.MASK:
        # That of the last request.
        return instance
    drive = instance.get('configdrive', known)
    if drive is None:
        return {'configdrive': None}
    if not isinstance(drive, str | dict):
        raise failures.InvalidInput(reason='configdrive in instance_info must be a string or an object.')
    # Imported late: only a service with the hardware type redfish has what it needs.
    from ironic_traits.redfish import boot_images, config_drives

    try:
        if isinstance(drive, dict):
            drive = config_drives.pack(drive, node)
        elif not config_drives.is_url(drive):
            # This may take a second, and is not done again under the lock of the node.
            config_drives.unpack(drive)
        return {'configdrive': drive}
    except boot_images.BadImage as error:
        raise failures.InvalidInput(reason=str(error)) from None


def _image_in_glance(context: Context, info: Values) -> Values:
    image = info.get('image_source')
    if info.get('boot_iso') and info.get('original_image_source') in (None, image):
        return {}
    if not context.conf.glance.endpoint_override or not uuidutils.is_uuid_like(image):
        return {}
    url = glance.image(context, {'id': image})['properties'].get(PROPERTY)
    if not url:
        raise failures.InvalidInput(
            reason=f'Image {image} has no property {PROPERTY}, the URL of the ISO image that the machine boots.'
        )
    return {'boot_iso': url, 'original_image_source': image}
