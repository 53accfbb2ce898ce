"""The routes of records: chassis, ports, portgroups, volume connectors and others."""

import types as python_types
from typing import Any, ClassVar

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.records import FIELDS_QUERY, Records
from ironic_traits.context import Context, Grant

#: Filters that select nodes: the lists below one node do not have them.
_NODE_FILTERS = frozenset({'node', 'node_uuid', 'shard', 'conductor_groups'})


class ListController(Resource):
    """A list. With ``has_details``, the path below it has the same list, whose items have all fields.

    :cvar records: the Records that it lists.
    :cvar detail: whether the items have all fields.
    """

    records: ClassVar[Records]
    has_details = True
    detail = False
    #: The exposed method: a function with the attribute ``route``.
    get_all: Any

    def __init__(self) -> None:
        if self.has_details:
            self.children = {**self.children, 'detail': _DetailController(self)}


class _DetailController(Resource):
    """The resource at /detail below a list.

    :ivar of: the list.
    """

    detail = True

    def __init__(self, of: ListController) -> None:
        self.of, self.records = of, of.records
        self.get_all = python_types.MethodType(of.get_all.__func__, self)


class RecordsController(ListController):
    """The routes of a kind of records: list them, create one; show, change and delete one.

    Each method becomes a route when a subclass is made. A method of the subclass replaces that of this class; with
    ``@expose``, its route is another, too.

    ``records`` say what is known of the routes.
    """

    def __init_subclass__(cls) -> None:
        records = cls.records
        cls.since, cls.has_details = records.served_since, records.resource.has_details
        one = {'of': records.allowed, 'ident': records.ident_name}
        changes = {'since': cls.since, 'before': records.before}
        rule, shown, body = records.rule, records.returns, records.new_body or records.body
        decorators = {
            'get_all': expose(records.list_rule, records.page_type, since=cls.since, query=records.query),
            'get_one': expose(f'{rule}:get', shown, since=cls.since, query=FIELDS_QUERY, **one),
            'post': expose(f'{rule}:create', shown, body=body, statuses=(201,), **changes),
            'patch': expose(f'{rule}:update', shown, body=[types.PatchOperation], **one, **changes),
            'delete': expose(f'{rule}:delete', **one, **changes),
        }
        for name, decorate in decorators.items():
            method = getattr(cls, name)
            if not hasattr(method, 'route'):
                setattr(cls, name, decorate(method))

    def get_all(self, context: Context, grant: Grant, /, **query: Any) -> dict[str, Any]:
        return self.records.page(context, grant, query, self.detail)

    def get_one(self, context: Context, grant: Grant, ident: str, /, *, fields: Any = None) -> dict[str, Any]:
        return self.records.show(context, grant, fields)

    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        return self.records.create(context, grant, body)

    def patch(self, context: Context, grant: Grant, ident: str, /, *, body: Any) -> dict[str, Any] | Response:
        return self.records.change(context, grant, body)

    def delete(self, context: Context, grant: Grant, ident: str, /) -> None:
        self.records.delete(context, grant)


def node_records(kind: Records, since: int | None = None) -> ListController:
    """Return the resource for the records of a node.

    :param since: the minor version that brought it; None for that of the records.
    """

    class NodeRecordsController(ListController):
        records = kind
        has_details = kind.resource.has_details

        @expose(
            kind.list_rule,
            kind.page_type,
            within=access.visible_node,
            since=since or kind.served_since,
            query={name: datatype for name, datatype in kind.query.items() if name not in _NODE_FILTERS},
        )
        def get_all(self, context: Context, grant: Grant, node_ident: str, /, **query: Any) -> dict[str, Any]:
            return self.records.page(context, grant, {**query, 'node': node_ident}, self.detail)

    return NodeRecordsController()
