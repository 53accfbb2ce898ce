"""/v1/drivers"""

import functools
from collections.abc import Callable
from typing import Any

import wsme.types

from ironic_traits import failures, spelling
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.context import Context
from ironic_traits.deploy import base
from ironic_traits.resources.nodes import INTERFACES

#: The minor versions that brought links to properties, and kinds and details of drivers.
_PROPERTIES_SINCE, _DETAIL_SINCE = 14, 30
#: The minor versions that brought interfaces. All others came with details of drivers.
_INTERFACES_SINCE = dict.fromkeys(INTERFACES, _DETAIL_SINCE) | {'storage': 33, 'rescue': 38, 'bios': 40, 'firmware': 86}
_FIELDS_QUERY, _FIELDS_SINCE = {'fields': [types.Names()]}, {'fields': 77}


class _Driver(types.Base):
    """The fields of a driver that do not depend on its interfaces."""

    name = str
    hosts = [str]
    links = types.LINKS
    properties = types.LINKS
    simulated = types.BOOLEAN
    type = str


_SINCE = {'properties': _PROPERTIES_SINCE, 'type': _DETAIL_SINCE}
for _interface, _minor in _INTERFACES_SINCE.items():
    _SINCE |= dict.fromkeys((f'default_{_interface}_interface', f'enabled_{_interface}_interfaces'), _minor)
#: A driver in a response, with its implementations of each interface.
Driver = type(
    'Driver',
    (_Driver,),
    {f'default_{interface}_interface': str for interface in INTERFACES}
    | {f'enabled_{interface}_interfaces': [str] for interface in INTERFACES}
    | {'_since': _SINCE},
)


class Drivers(types.Base):
    """The enabled drivers."""

    drivers = [Driver]


class DriverPropertiesController(Resource):
    """The driver_info keys that a driver supports."""

    @expose('baremetal:driver:get_properties', {str: str})
    def get_all(self, context: Context, driver_name: str, /) -> dict[str, str]:
        return dict(_driver(context, driver_name).properties)


class DriversController(Resource):
    """The enabled drivers."""

    members = {'properties': DriverPropertiesController()}

    @expose(
        'baremetal:driver:get',
        Drivers,
        query={'type': types.TEXT, 'detail': types.BOOLEAN, **_FIELDS_QUERY},
        query_since=dict.fromkeys(('type', 'detail'), _DETAIL_SINCE) | _FIELDS_SINCE,
    )
    def get_all(
        self, context: Context, /, *, type: Any = None, detail: Any = False, fields: Any = None
    ) -> dict[str, Any]:
        if type not in (None, 'classic', 'dynamic'):
            raise failures.InvalidInput(reason='"type" filter must be one of "classic" or "dynamic", if specified.')
        # All drivers are of the kind that Ironic calls dynamic.
        names = [] if type == 'classic' else sorted(context.service.drivers)
        if detail and fields is not None:
            raise failures.InvalidInput(reason='Can not specify ?detail=True and fields in the same request.')
        show = _selected(context, fields) if fields is not None else functools.partial(_show, context, detail=detail)
        return {'drivers': [show(name) for name in names]}

    @expose('baremetal:driver:get', Driver, query=_FIELDS_QUERY, query_since=_FIELDS_SINCE)
    def get_one(self, context: Context, driver_name: str, /, *, fields: Any = None) -> dict[str, Any]:
        _driver(context, driver_name)
        if fields is not None:
            return _selected(context, fields)(driver_name)
        return _show(context, driver_name, context.minor >= _DETAIL_SINCE)


def _driver(context: Context, name: str) -> base.Driver:
    if name not in context.service.drivers:
        raise failures.DriverNotFound(driver=name)
    return context.service.drivers[name]


def _selected(context: Context, lists: list[list[str]]) -> Callable[[str], dict[str, Any]]:
    """Return a function that shows the selected fields of a driver, and its links.

    :param lists: lists of field names, one for each ``fields`` in the query.
    """
    names = {name for names in lists for name in names}
    fields = {attribute.name for attribute in wsme.types.list_attributes(Driver)}
    if unknown := sorted(names - fields):
        raise failures.InvalidInput(
            reason=f'Field {unknown[0]} is not a valid field.{spelling.hint(unknown[0], fields)}'
        )
    names.add('links')
    return lambda driver: {key: value for key, value in _show(context, driver, True).items() if key in names}


def _show(context: Context, name: str, detail: bool) -> dict[str, Any]:
    driver = {
        'name': name,
        'hosts': context.service.conductors.of_driver(context, name),
        'links': context.links('drivers', name),
    }
    if name in context.conf.deploy.simulated_hardware_types:
        driver['simulated'] = True
    if context.minor >= _PROPERTIES_SINCE:
        driver['properties'] = context.links('drivers', name, 'properties')
    if context.minor >= _DETAIL_SINCE:
        driver['type'] = 'dynamic'
    if detail:
        for interface, valid in context.service.drivers[name].interfaces.items():
            if context.minor >= _INTERFACES_SINCE[interface]:
                driver[f'default_{interface}_interface'] = valid[0]
                driver[f'enabled_{interface}_interfaces'] = list(valid)
    return driver
