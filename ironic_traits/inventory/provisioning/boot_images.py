"""The ISO images that nodes boot: those of images in Glance, as nova and others name them."""

from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.provisioning import node_states
from ironic_traits.peers import glance

#: The property of an image in Glance with the URL of an ISO image, as in Ironic.
PROPERTY = 'boot_iso_id'


def of_instance(context: Context, ident: str) -> Values:
    """Return what the image of an instance in Glance adds to its ``instance_info``.

    :returns: {'boot_iso': URL, 'original_image_source': uuid of the image}; {} if the instance names an ISO image
        itself, or has that of its image already, the node does not boot one, or the service does not use Glance.
    :raises failures.InvalidInput: the image has no ISO image.
    :raises failures.GlanceUnavailable: Glance does not respond.
    """
    node = node_states.get(context, ident)
    driver, info = context.service.drivers.get(node['driver']), node['instance_info']
    image = info.get('image_source')
    is_named = info.get('boot_iso') and info.get('original_image_source') in (None, image)
    if not driver or driver.simulates or node['deploy_interface'] != 'ramdisk' or is_named:
        return {}
    if not context.conf.glance.endpoint_override or not uuidutils.is_uuid_like(image):
        return {}
    url = glance.image(context, {'id': image})['properties'].get(PROPERTY)
    if not url:
        raise failures.InvalidInput(
            reason=f'Image {image} has no property {PROPERTY}, the URL of the ISO image that the machine boots.'
        )
    return {'boot_iso': url, 'original_image_source': image}
