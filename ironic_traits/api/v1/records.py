"""What chassis, ports, portgroups, volume connectors and other records have in common.

Each of these resources declares a Records, from which ``record_controllers`` derives its routes.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures, spelling
from ironic_traits.api import arguments, paging, patch, types
from ironic_traits.api import body as request_body
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, node_ident
from ironic_traits.api.v1.node_fields import FIELDS_SINCE
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core.paging import Page, Rows
from ironic_traits.inventory.records import records
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.resources.fields import Resource
from ironic_traits.uuids import canonical

#: Query parameters of one record, and of a list.
FIELDS_QUERY = {'fields': [types.Names()]}
LIST_QUERY = {**paging.QUERY, **FIELDS_QUERY, 'detail': types.BOOLEAN}


def _no_check(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Accept every change: the default of ``Records.check``."""


@dataclasses.dataclass(frozen=True)
class Records:
    """A resource of stored records.

    :ivar kind: the kind of the records.
    :ivar rule: what the names of its policy rules begin with.
    :ivar returns: WSME type of a record in a response.
    :ivar body: WSME type of the fields that clients may set.
    :ivar new_body: WSME type of the body of a POST; None for ``body``.
    :ivar list_action: what the name of the policy rule of its list ends in.
    :ivar before: the status of POST, PATCH and DELETE at versions before that of the resource.
    :ivar check: function of the context, the settable fields before ({} for a new record), and the settable fields
        after a change, which raises if the change is invalid.
    :ivar optional: fields that responses have only where they are not null, unless ``fields`` selects them.
    :ivar views: {JSON field: function of the context and its stored text that returns the text to show}.
    """

    kind: Kind
    rule: str
    returns: type
    body: type
    new_body: type | None = None
    list_action: str = 'list'
    before: int = 404
    check: Callable[[Context, dict[str, Any], dict[str, Any]], None] = _no_check
    optional: frozenset[str] = frozenset()
    views: dict[str, Callable[[Context, str], str]] = dataclasses.field(default_factory=dict)

    @property
    def resource(self) -> Resource:
        """The table of its fields."""
        return self.kind.resource

    @property
    def path(self) -> str:
        """The path below /v1."""
        return self.resource.path

    @property
    def served_since(self) -> int:
        """The minor version that brought the resource."""
        return self.resource.served_since

    @functools.cached_property
    def since(self) -> dict[str, int]:
        """{field, or key of links: the minor version that brought it}, in the order in which they are shown."""
        return {**self.resource.since, 'links': self.served_since, **self.resource.links}

    @property
    def list_rule(self) -> str:
        """The name of the policy rule of its list."""
        return f'{self.rule}:{self.list_action}'

    @property
    def ident_name(self) -> str:
        """The name of the path parameter for one record."""
        return f'{self.resource.singular.split()[-1]}_{"uuid" if self.resource.names_since is None else "ident"}'

    @functools.cached_property
    def page_type(self) -> type:
        """The WSME type of a page."""
        name = self.returns.__name__
        attributes = {
            self.resource.page_key: [self.returns],
            'next': str,
            '__doc__': f'A page of {self.resource.plural}.',
        }
        return type(f'{name}List' if name.endswith('s') else f'{name}s', (types.Base,), attributes)

    @functools.cached_property
    def query(self) -> dict[str, Any]:
        """The query parameters of a list: {parameter: type}."""
        return {**LIST_QUERY, **arguments.query(self.resource)}

    def page(self, context: Context, grant: Grant, query: dict[str, Any], detail: bool = False) -> dict[str, Any]:
        """Return a page of records, with a link to the next page.

        :param query: {query parameter: value}: LIST_QUERY, and filters as ``inventory.records.records.find`` takes
            them.
        :param detail: whether the path asks for all fields.
        :raises failures.VersionTooLow: a parameter needs a later version.
        :raises failures.InvalidInput: the parameters contradict each other.
        """
        selection: dict[str, Any] = {name: query.pop(name) for name in ('fields', 'detail') if name in query}
        names = self._listed(context, selection, detail)
        page = paging.page(context, query, self.kind.sortable, self._check_field)
        self.check_filters(context, query)
        filters = {name: value for name, value in query.items() if name not in paging.QUERY}
        if 'node' in filters:
            filters['node'] = parse_node(context, filters['node'])
        found = self.find(context, grant, self._columns(names), filters, page)
        show = self._presenter(context, names, 'fields' in selection)
        return paging.document(context, page, found, self.resource.page_key, show)

    def find(
        self, context: Context, grant: Grant, fields: tuple[str, ...], filters: dict[str, Any], page: Page
    ) -> Rows:
        """Return the rows of a page, as ``inventory.records.records.find`` does."""
        return records.find(context, grant, self.kind, fields, filters, page)

    def check_filters(self, context: Context, query: dict[str, Any]) -> None:
        """Raise VersionTooLow unless the version of the request has the filters of a query."""
        arguments.check_versions(context, self.resource, query)

    def show(self, context: Context, grant: Grant, fields: Sequence[Sequence[str]] | None = None) -> dict[str, Any]:
        """Return one record.

        :param fields: lists of field names, one for each ``fields`` in the query; None for all fields.
        """
        names = self._all(context) if fields is None else self._selected(context, fields)
        row = records.get(context, grant, self.kind, self._columns(names))
        return self._presenter(context, names, fields is not None)(row)

    def create(self, context: Context, grant: Grant, body: types.Base) -> Response:
        """Create a record from a body, and return the response."""
        values = self.new_values(context, body)
        if self.kind.has_node:
            access.new_record(context, grant, values['node_uuid'])
        names = self._all(context)
        row = records.create(context, self.kind, values, self._columns(names))
        return Response(self._presenter(context, names)(row), status=201, location=f'/v1/{self.path}/{row.uuid}')

    def new_values(self, context: Context, body: types.Base) -> dict[str, Any]:
        """Return the values of a new record, as ``inventory.records.records.create`` takes them.

        :raises failures.Failure: a field is invalid or missing, or needs a later version.
        """
        fields = patch.stated_fields(body)
        for name in fields:
            self._check_field(context, name)
        values = self._settable(body) | {name: fields.get(name) for name in self.kind.implicit}
        if fields.get('uuid'):
            values['uuid'] = body.uuid
        self.check(context, {}, values)
        return values

    def shown(self, context: Context, rows: Iterable[sa.Row]) -> list[dict[str, Any]]:
        """Return records with all their fields, as in a response.

        :param rows: as ``inventory.records.records.find_by_nodes`` returns them for ``columns``.
        """
        show = self._presenter(context, self._all(context))
        return [show(row) for row in rows]

    def columns(self, context: Context) -> tuple[str, ...]:
        """Return the names of the columns of all fields, a tuple."""
        return self._columns(self._all(context))

    def change(self, context: Context, grant: Grant, operations: Sequence[types.PatchOperation]) -> dict[str, Any]:
        """Apply a JSON patch to a record, and return the record.

        :param grant: ironic_traits.context.Grant of the record.
        """
        for operation in operations:
            self._check_field(context, patch.field(operation))
        plain_operations = [patch.plain(operation, self.kind.settable) for operation in operations]

        def change(old: dict[str, Any]) -> dict[str, Any]:
            new = self._settable(request_body.typed(self.body, patch.apply(old, plain_operations)))
            if self.kind.has_node and new['node_uuid'] != old['node_uuid']:
                access.new_record(context, grant, new['node_uuid'])
            self.check(context, old, new)
            return new

        names = self._all(context)
        row = records.update(context, self.kind, grant.ident, change, self._columns(names))
        return self._presenter(context, names)(row)

    def delete(self, context: Context, grant: Grant) -> None:
        """Delete a record."""
        records.delete(context, self.kind, grant.ident)

    def allowed(self, context: Context, grant: Grant, text: str) -> Grant:
        """Return the grant for a record, if policy allows the request for it: ``of`` of ``expose``.

        :param text: its uuid or name in the request.
        :raises failures.Failure: as ``ident`` and ``access.record`` do.
        """
        if self.kind.has_node:
            return access.record(context, grant, self.kind, self.ident(context, text))
        if grant.rules:
            raise context.forbidden(grant.rules[0])
        return grant.of(self.ident(context, text))

    def ident(self, context: Context, text: str) -> str:
        """Return the uuid (in lower case, with dashes) or the name of a record in a request.

        :raises failures.InvalidInput: the text can be neither.
        :raises failures.RecordNotFound: it is a name, and the version of the request does not have names.
        """
        if uuidutils.is_uuid_like(text):
            return canonical(text)
        if self.resource.names_since is None:
            raise failures.InvalidInput(reason=f'Expected UUID for {self.kind.what}: {text}')
        if not node_ident.is_ident(text):
            raise failures.InvalidInput(reason=f'Expected UUID or name for {self.kind.what}: {text}')
        if context.minor < self.resource.names_since:
            raise failures.RecordNotFound(what=self.kind.what.capitalize(), ident=text)
        return text

    def _listed(self, context: Context, selection: dict[str, Any], detail: bool) -> tuple[str, ...]:
        if selection.get('detail') is not None:
            context.needs(self.resource.detail_since or 0, "the argument 'detail'")
        if detail or selection.get('detail'):
            if 'fields' in selection:
                raise failures.InvalidInput(reason="Can't fetch a subset of fields with 'detail' set")
            return self._all(context)
        return (
            self._selected(context, selection['fields']) if 'fields' in selection else (*self.resource.listed, 'links')
        )

    def _all(self, context: Context) -> tuple[str, ...]:
        return tuple(name for name, since in self.since.items() if context.has(since))

    def _selected(self, context: Context, lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
        context.needs(FIELDS_SINCE, "the argument 'fields'")
        names = tuple(dict.fromkeys(name for names in lists for name in names))
        for name in names:
            if name not in self.since:
                raise failures.InvalidInput(reason=f'Field(s) "{name}" are not valid.{spelling.hint(name, self.since)}')
            self._check_field(context, name)
        if not names:
            raise failures.InvalidInput(reason="The argument 'fields' does not name any field.")
        return names

    def _check_field(self, context: Context, name: str) -> None:
        context.needs(self.since.get(name, 1), f"the field '{name}'")

    def _columns(self, names: Iterable[str]) -> tuple[str, ...]:
        # The uuid is always needed, for the links and for the next page.
        stored = (name for name in names if name in self.kind.table.c or name in self.kind.computed)
        return ('uuid', *(name for name in stored if name != 'uuid'))

    def _presenter(
        self, context: Context, names: Sequence[str], is_selection: bool = False
    ) -> Callable[[sa.Row], dict[str, Any]]:
        """Return a function that turns a row into a record for the response.

        :param is_selection: whether ``fields`` selects the names.
        """
        getters = [(name, self._getter(context, name)) for name in names]
        optional = () if is_selection else self.optional.intersection(names)
        if not optional:
            return lambda row: {name: get(row) for name, get in getters}
        return lambda row: {
            name: get(row) for name, get in getters if name not in optional or getattr(row, name) is not None
        }

    def _getter(self, context: Context, name: str) -> Callable[[sa.Row], Any]:
        """Return a function that returns a field of a row for the response."""
        if name == 'links':
            return lambda row: context.links(self.path, row.uuid)
        if name in self.resource.links:
            return lambda row: context.links(self.path, row.uuid, name)
        value = operator.attrgetter(name)
        rule = self.resource[name].show_rule
        if rule and not context.may(rule.name):
            placeholder = f'** Value redacted: Requires permission {rule.name} access. Permission denied. **'
            return lambda row: {'redacted_contents': placeholder}
        if name in self.views:
            return lambda row: orjson.Fragment(self.views[name](context, value(row)))
        if name in self.kind.json_fields:
            # The database has JSON text, which goes into the response unchanged.
            return lambda row: orjson.Fragment(value(row))
        return value

    def _settable(self, body: types.Base) -> dict[str, Any]:
        """Return the settable fields of a record from a body, with defaults for the fields that it does not have.

        :raises failures.InvalidInput: a required field is missing.
        """
        fields = patch.stated_fields(body)
        values = {name: value for name, value in fields.items() if value is not None and name != 'uuid'}
        for name in self.resource.required:
            if name not in values:
                raise failures.InvalidInput(reason=f"'{name}' is a required property")
        return self.kind.settable | values


def parse_node(context: Context, ident: str) -> str:
    """Return the uuid or the name of a node in a query.

    :raises failures.VersionTooLow: it is a name, and the version of the request does not have names.
    :raises failures.InvalidIdent: the text can be neither.
    """
    if not uuidutils.is_uuid_like(ident):
        context.needs(node_ident.NAMES_SINCE, 'the name of a node')
    return node_ident.ident(context, ident)
