"""/v1/nodes/{node}/states/boot_mode and /v1/nodes/{node}/states/secure_boot"""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import preconditions, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.node_power import read_arguments
from ironic_traits.context import Context
from ironic_traits.inventory.provisioning import management

_SINCE = 76
_MODES = ('bios', 'uefi')


class BootModeBody(types.Base):
    """The requested boot mode."""

    target = types.TEXT


class SecureBootBody(types.Base):
    """Whether secure boot is requested."""

    target = types.BOOLEAN


class BootModeController(Resource):
    """The boot mode of a node."""

    @expose(
        'baremetal:node:set_boot_mode',
        of=access.node,
        since=_SINCE,
        policy_first=True,
        body=Body(BootModeBody, optional=True),
        statuses=(202,),
    )
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> Response:
        mode = read_arguments(body)['target']
        if mode not in _MODES:
            allowed = ', '.join(_MODES)
            text = f'Invalid boot mode {mode} requested for node. Allowed boot modes are: {allowed}'
            raise failures.InvalidInput(reason=text)
        return _set(context, node_ident, 'boot_mode', mode)


class SecureBootController(Resource):
    """The secure boot of a node."""

    @expose(
        'baremetal:node:set_secure_boot',
        of=access.node,
        since=_SINCE,
        policy_first=True,
        body=Body(SecureBootBody, optional=True),
        statuses=(202,),
    )
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> Response:
        enabled = read_arguments(body)['target']
        if enabled is None:
            text = 'Invalid secure_boot None requested for node. Allowed secure_boot states are: True, False'
            raise failures.InvalidInput(reason=text)
        return _set(context, node_ident, 'secure_boot', enabled)


def _set(context: Context, node_ident: str, column: str, value: Any) -> Response:
    preconditions.refuse(context)
    management.set_column(context, node_ident, column, value)
    return Response(status=202, location=f'/v1/nodes/{node_ident}/states')
