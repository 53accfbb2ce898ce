"""/v1/conductors"""

from collections.abc import Sequence
from typing import Any

from ironic_traits import failures, spelling
from ironic_traits.api import paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.records import FIELDS_QUERY
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core.paging import Page
from ironic_traits.inventory.provisioning import conductors

SINCE = 49
FIELDS = ('created_at', 'updated_at', 'hostname', 'conductor_group', 'drivers', 'alive', 'links')
LISTED = ('hostname', 'conductor_group', 'alive', 'links')
SORTABLE = frozenset({'id', 'created_at', 'updated_at', 'hostname', 'conductor_group'})
#: The marker is a host name, while that of other lists is a uuid.
QUERY = {**paging.QUERY, 'marker': types.TEXT, **FIELDS_QUERY, 'detail': types.BOOLEAN}


class Conductor(types.Stored):
    """A host with workers."""

    hostname = str
    conductor_group = str
    alive = bool
    drivers = [str]


class Conductors(types.Base):
    """A page of conductors."""

    conductors = [Conductor]
    next = str


class ConductorsController(Resource):
    """Conductors: the hosts with workers."""

    since = SINCE

    @expose('baremetal:conductor:get', Conductors, since=SINCE, query=QUERY)
    def get_all(
        self, context: Context, grant: Grant, /, *, fields: Any = None, detail: Any = None, **query: Any
    ) -> dict[str, Any]:
        if detail and fields is not None:
            raise failures.InvalidInput(reason='Can not specify ?detail=True and fields in the same request.')
        names = FIELDS if detail else LISTED if fields is None else _selected(fields)
        page = paging.page(context, query, SORTABLE, lambda context, name: None)
        found = _after(_sorted(conductors.find(context), page), page.marker)
        rows = found[: page.limit], len(found) > page.limit
        return paging.document(
            context, page, rows, 'conductors', lambda row: _show(context, row, names), marker='hostname'
        )

    @expose('baremetal:conductor:get', Conductor, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context: Context, grant: Grant, hostname: str, /, *, fields: Any = None) -> dict[str, Any]:
        names = FIELDS if fields is None else _selected(fields)
        return _show(context, conductors.get(context, hostname), names)


def _selected(lists: list[list[str]]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for names in lists for name in names))
    for name in names:
        if name not in FIELDS:
            raise failures.InvalidInput(reason=f'Field(s) "{name}" are not valid.{spelling.hint(name, FIELDS)}')
    if not names:
        raise failures.InvalidInput(reason="The argument 'fields' does not name any field.")
    return names


def _sorted(found: list[conductors.Conductor], page: Page) -> list[conductors.Conductor]:
    if page.sort_key != 'id':
        found = sorted(found, key=lambda conductor: getattr(conductor, page.sort_key))
    return found[::-1] if page.descending else found


def _after(found: list[conductors.Conductor], marker: str | None) -> list[conductors.Conductor]:
    if marker is None:
        return found
    names = [conductor.hostname for conductor in found]
    if marker not in names:
        raise failures.ConductorNotFound(conductor=marker)
    return found[names.index(marker) + 1 :]


def _show(context: Context, conductor: conductors.Conductor, names: Sequence[str]) -> dict[str, Any]:
    links = context.links('conductors', conductor.hostname)
    return {name: links if name == 'links' else getattr(conductor, name) for name in names}
