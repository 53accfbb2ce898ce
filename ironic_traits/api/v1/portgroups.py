"""/v1/portgroups"""

from typing import Any

from ironic_traits.api.expose import expose
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.ports import PORTS
from ironic_traits.api.v1.record_controllers import ListController, RecordsController
from ironic_traits.context import Context, Grant

#: The minor version that brought the resources below a portgroup, and portgroups below a node.
MEMBERS_SINCE = 24
_PORTS_QUERY = {name: datatype for name, datatype in PORTS.query.items() if name != 'portgroup'}


class PortgroupPortsController(ListController):
    """The ports in a portgroup."""

    records = PORTS

    @expose(PORTS.list_rule, PORTS.page_type, since=MEMBERS_SINCE, query=_PORTS_QUERY)
    def get_all(self, context: Context, grant: Grant, portgroup_ident: str, /, **query: Any) -> dict[str, Any]:
        return PORTS.page(context, grant, {**query, 'portgroup': portgroup_ident}, self.detail)


class PortgroupsController(RecordsController):
    """Portgroups: bonded ports of a node."""

    records = PORTGROUPS
    members = {'ports': PortgroupPortsController()}
