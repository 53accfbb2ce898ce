"""/v1/nodes/{node}/vmedia"""

import urllib.parse
from typing import Any

import wsme.types

from ironic_traits import failures, masks
from ironic_traits.api import preconditions, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.deploy.management import MEDIA
from ironic_traits.inventory.provisioning import management

_SINCE, _LIST_SINCE = 89, 93
_SCHEMES = ('http', 'https', 'nfs', 'cifs', 'smb')


class Medium(types.Base):
    """A virtual medium of a node."""

    media_types = [str]
    inserted = types.BOOLEAN
    image = str


class NewMedium(types.Base):
    """The image to attach. ``image_download_source`` has no effect: the BMC always fetches the image itself."""

    device_type = wsme.types.wsattr(wsme.types.Enum(str, *MEDIA), mandatory=True)
    image_url = wsme.types.wsattr(types.TEXT, mandatory=True)
    image_download_source = wsme.types.Enum(str, 'http', 'local', 'swift')


class OldMedia(types.Base):
    """The devices whose images to detach. openstacksdk names them in a body."""

    device_types = types.Texts()


class NodeVmediaController(Resource):
    """The virtual media of a node."""

    @expose('baremetal:node:vmedia:get', [Medium], of=access.node, since=_LIST_SINCE)
    def get_all(self, context: Context, node_ident: str, /) -> list[dict[str, Any]]:
        media = management.ask(context, node_ident, 'media')
        return [each | {'image': each['image'] and masks.url(each['image'])} for each in media]

    @expose('baremetal:node:vmedia:attach', of=access.node, since=_SINCE, body=NewMedium)
    def post(self, context: Context, node_ident: str, /, *, body: Any) -> None:
        preconditions.refuse(context)
        try:
            parts = urllib.parse.urlsplit(body.image_url)
        except ValueError as error:
            raise failures.InvalidInput(reason=f'Invalid image_url: {error}') from error
        if parts.scheme not in _SCHEMES:
            raise failures.InvalidInput(reason=f'Unsupported or missing URL scheme: {parts.scheme}')
        if not parts.netloc or not body.image_url.isprintable() or ' ' in body.image_url:
            raise failures.InvalidInput(reason='image_url must be a URL with a host, and without blanks.')
        management.perform(context, node_ident, 'attach_media', body.device_type, body.image_url)

    @expose(
        'baremetal:node:vmedia:detach',
        of=access.node,
        since=_SINCE,
        query={'device_types': types.Texts()},
        body=Body(OldMedia, optional=True),
    )
    def delete(self, context: Context, node_ident: str, /, *, body: Any, device_types: Any = None) -> None:
        preconditions.refuse(context)
        if device_types is None and body is not None:
            device_types = body.device_types or None
        if device_types is None:
            device_types = MEDIA
        if invalid := [each for each in device_types if each not in MEDIA]:
            text = f'Invalid device type(s) {", ".join(invalid)} (valid are {", ".join(MEDIA)})'
            raise failures.InvalidInput(reason=text)
        management.perform(context, node_ident, 'detach_media', device_types)
