"""/v1/nodes/{node}/management"""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import preconditions, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.inventory.provisioning import management

_NMI_SINCE = 29


class BootDevice(types.Base):
    """The boot device of a node. Both are null if they are not known."""

    boot_device = types.TEXT
    persistent = types.BOOLEAN


class SupportedBootDevices(types.Base):
    """The boot devices that a node can have."""

    supported_boot_devices = [str]


class Indicator(types.Base):
    """An indicator of a node, such as a LED. Its name is that of the indicator, @, and that of the component."""

    name = str
    component = str
    readonly = types.BOOLEAN
    states = [str]
    links = types.LINKS


class Indicators(types.Base):
    """The indicators of a node."""

    indicators = [Indicator]


class IndicatorState(types.Base):
    """The state of an indicator."""

    state = types.TEXT


class SupportedBootDevicesController(Resource):
    """The boot devices that a node can have."""

    @expose('baremetal:node:get_boot_device', SupportedBootDevices, of=access.node)
    def get_all(self, context: Context, node_ident: str, /) -> dict[str, Any]:
        return {'supported_boot_devices': management.ask(context, node_ident, 'boot_devices')}


class BootDeviceController(Resource):
    """The boot device of a node."""

    children = {'supported': SupportedBootDevicesController()}

    @expose('baremetal:node:get_boot_device', BootDevice, of=access.node)
    def get_all(self, context: Context, node_ident: str, /) -> dict[str, Any]:
        return management.ask_unlocked(context, node_ident, 'boot_device')

    @expose('baremetal:node:set_boot_device', of=access.node, body=Body(BootDevice, optional=True))
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> None:
        # The device is changed outside of transactions, so it cannot depend on an ETag. The same holds for all below.
        preconditions.refuse(context)
        if body is None or not body.boot_device:
            raise failures.InvalidInput(reason='Missing mandatory parameter: boot_device')
        persistent = body.persistent is not wsme.types.Unset and bool(body.persistent)
        management.set_boot_device(context, node_ident, body.boot_device, persistent)


class InjectNmiController(Resource):
    """A non-maskable interrupt of a node."""

    @expose('baremetal:node:inject_nmi', of=access.node, since=_NMI_SINCE)
    def put(self, context: Context, node_ident: str, /) -> None:
        preconditions.refuse(context)
        management.perform(context, node_ident, 'inject_nmi')


class IndicatorsController(Resource):
    """The indicators of a node.

    Ironic serves an indicator as name@component. The documentation of Ironic has it as component/name.
    """

    @expose('baremetal:node:get_indicator_state', Indicators, of=access.node)
    def get_all(self, context: Context, node_ident: str, /) -> dict[str, Any]:
        return _listed(context, node_ident, management.ask(context, node_ident, 'indicators'))

    @expose('baremetal:node:get_indicator_state', IndicatorState, of=access.node, or_returns=Indicators)
    def get_one(
        self, context: Context, node_ident: str, indicator: str, indicator_name: str | None = None, /
    ) -> dict[str, Any]:
        if indicator_name is None and '@' not in indicator:
            known = management.ask(context, node_ident, 'indicators', indicator)
            if indicator not in known:
                raise failures.InvalidInput(reason=f'Invalid component {indicator} specified.')
            return _listed(context, node_ident, known)
        return {'state': management.ask_unlocked(context, node_ident, 'indicator', *_place(indicator, indicator_name))}

    @expose('baremetal:node:set_indicator_state', of=access.node, body=Body(IndicatorState, optional=True))
    def put(
        self, context: Context, node_ident: str, indicator: str, indicator_name: str | None = None, /, *, body: Any
    ) -> None:
        preconditions.refuse(context)
        if body is None or not body.state:
            raise failures.InvalidInput(reason='Missing mandatory parameter: state')
        management.perform(context, node_ident, 'set_indicator', *_place(indicator, indicator_name), body.state)


class NodeManagementController(Resource):
    """What only the management interface of a node does."""

    children = {
        'boot_device': BootDeviceController(),
        'indicators': IndicatorsController(),
        'inject_nmi': InjectNmiController(),
    }


def _listed(context: Context, node_ident: str, known: Any) -> dict[str, Any]:
    """Return the document of indicators.

    :param known: as ``deploy.management.Indicators``.
    """
    listed = [
        {'name': f'{name}@{component}', 'component': component, **fields}
        for component, names in known.items()
        for name, fields in names.items()
    ]
    return {
        'indicators': [
            each | {'links': context.links('nodes', node_ident, 'management', 'indicators', each['name'])}
            for each in listed
        ]
    }


def _place(indicator: str, name: str | None) -> tuple[str, str]:
    """Return the component and the name of an indicator, from the segments of a path."""
    if name is not None:
        return indicator, name
    name, at, component = indicator.partition('@')
    if not at:
        raise failures.InvalidInput(reason=f'Malformed indicator name "{indicator}"')
    return component, name
