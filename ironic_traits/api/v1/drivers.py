"""/v1/drivers"""

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource


class DriverPropertiesController(Resource):
    """The driver_info keys that a driver understands."""

    @expose({str: str})
    def get_all(self, context, driver_name, /):
        context.can('baremetal:driver:get_properties')
        return dict(_driver(context, driver_name).properties)


class DriversController(Resource):
    """The enabled drivers."""

    members = {'properties': DriverPropertiesController()}

    @expose(types.Drivers, query={'type': types.TEXT, 'detail': types.BOOLEAN})
    def get_all(self, context, /, *, type=None, detail=False):
        context.can('baremetal:driver:get')
        if type is not None or detail:
            context.needs(30, "the arguments 'type' and 'detail'")
        if type not in (None, 'classic', 'dynamic'):
            raise failures.InvalidInput(reason='"type" filter must be one of "classic" or "dynamic", if specified.')
        # All drivers are of the kind that Ironic calls dynamic.
        names = [] if type == 'classic' else sorted(context.drivers)
        return {'drivers': [_show(context, name, detail) for name in names]}

    @expose(types.Driver)
    def get_one(self, context, driver_name, /):
        context.can('baremetal:driver:get')
        _driver(context, driver_name)
        return _show(context, driver_name, context.minor >= 30)


def _driver(context, name):
    if name not in context.drivers:
        raise failures.DriverNotFound(driver=name)
    return context.drivers[name]


def _show(context, name, detail):
    shown = {'name': name, 'hosts': [context.conf.host], 'links': context.links('drivers', name)}
    if context.minor >= 14:
        shown['properties'] = context.links('drivers', name, 'properties')
    if context.minor >= 30:
        shown['type'] = 'dynamic'
    if detail:
        for interface, valid in context.drivers[name].interfaces.items():
            if interface != 'storage' or context.minor >= 33:
                shown[f'default_{interface}_interface'] = valid[0]
                shown[f'enabled_{interface}_interfaces'] = list(valid)
    return shown
