"""What the nouns of stored records have in common: chassis, ports, portgroups, volume connectors and targets.

Each noun declares a Records, and its routes say who may, and which of its methods answers.
"""

import dataclasses
import operator
from collections.abc import Callable

import orjson
import pecan
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import paging, patch, types
from ironic_traits.api.expose import Answer
from ironic_traits.api.v1 import access, node_ident
from ironic_traits.inventory import records
from ironic_traits.inventory.records import Kind

#: Query arguments of one record, and of a list.
FIELDS_QUERY = {'fields': [types.Names()]}
LIST_QUERY = {**paging.QUERY, **FIELDS_QUERY, 'detail': types.BOOLEAN}


def _nothing(context, old, new):
    """Check nothing."""


@dataclasses.dataclass(frozen=True)
class Records:
    """One noun.

    :ivar kind: what is stored.
    :ivar path: below /v1.
    :ivar body: WSME type of what clients may say of a record.
    :ivar since: {field: the minor version that brought it}, in the order in which they are shown.
    :ivar listed: the fields of a list for which nobody asked.
    :ivar required: the fields that a record cannot be without.
    :ivar served_since: the minor version that brought the noun.
    :ivar detail_since: the one that brought the argument ``detail``.
    :ivar names_since: the one that brought names, which may stand where a uuid does; None for no names.
    :ivar members: nouns below a record, to which it has links.
    :ivar secret: {field that not everyone sees: the policy rule that allows to see it}.
    :ivar check: function of the context, the settable fields before ({} of a new record), and after, which raises
        what is wrong with a change.
    """

    kind: Kind
    path: str
    body: type
    since: dict[str, int]
    listed: tuple[str, ...]
    required: tuple[str, ...] = ()
    served_since: int = 1
    detail_since: int = 43
    names_since: int | None = None
    members: tuple[str, ...] = ()
    secret: dict[str, str] = dataclasses.field(default_factory=dict)
    check: Callable = _nothing

    def page(self, context, query, detail=False):
        """Answer a list.

        :param query: the arguments: LIST_QUERY, and filters as ``inventory.records.find`` knows them.
        :param detail: whether all fields are asked for by the path.
        :raises failures.VersionTooLow: an argument came with a later version.
        :raises failures.InvalidInput: the arguments contradict each other.
        """
        self.served(context)
        asked = {name: query.pop(name) for name in ('fields', 'detail') if name in query}
        names = self._listed(context, asked, detail)
        page = paging.page(context, query, self.kind.sortable, self._check_field)
        filters = {name: value for name, value in query.items() if name not in paging.QUERY}
        if 'node' in filters:
            filters['node'] = parse_node(context, filters['node'])
        rows, more = records.find(context, self.kind, self._columns(names), filters, page)
        show = self._presenter(context, names)
        answer = {self.path.rpartition('/')[2]: [show(row) for row in rows]}
        if more:
            answer['next'] = paging.next_link(context, pecan.request, page, rows[-1].uuid)
        return answer

    def show(self, context, ident, fields=None):
        """Answer one record.

        :param fields: lists of names, as ``fields`` gives them; None for all.
        """
        self.served(context)
        names = self._all(context) if fields is None else self._selected(context, fields)
        row = records.get(context, self.kind, self._allowed(context, ident), self._columns(names))
        return self._presenter(context, names)(row)

    def create(self, context, body):
        """Make a record of a body."""
        values = self.new_values(context, body)
        if self.kind.has_node:
            access.new_record(context, values['node_uuid'])
        names = self._all(context)
        row = records.create(context, self.kind, values, self._columns(names))
        return Answer(self._presenter(context, names)(row), status=201, location=f'/v1/{self.path}/{row.uuid}')

    def new_values(self, context, body):
        """Return what a body says of a record that is new, as ``inventory.records.create`` takes it.

        :raises failures.Failure: it is not what it must be.
        """
        self.served(context)
        given = patch.given(body)
        for name in given:
            self._check_field(context, name)
        values = self._settable(body) | {name: given.get(name) for name in self.kind.implicit}
        if given.get('uuid'):
            values['uuid'] = body.uuid
        self.check(context, {}, values)
        return values

    def shown(self, context, rows):
        """Return records with all their fields, as clients see them.

        :param rows: as ``inventory.records.find_by_nodes`` gives them for ``columns``.
        """
        show = self._presenter(context, self._all(context))
        return [show(row) for row in rows]

    def columns(self, context):
        """Return the names of the columns of all fields, a tuple."""
        return self._columns(self._all(context))

    def change(self, context, ident, operations):
        """Change a record by a JSON patch.

        :param operations: [types.PatchOperation, …].
        """
        self.served(context)
        for operation in operations:
            self._check_field(context, patch.field(operation))
        plain = [patch.plain(operation, self.kind.settable) for operation in operations]

        def change(old):
            new = self._settable(request_body.typed(self.body, patch.apply(old, plain)))
            if self.kind.has_node and new['node_uuid'] != old['node_uuid']:
                access.new_record(context, new['node_uuid'])
            self.check(context, old, new)
            return new

        names = self._all(context)
        row = records.update(context, self.kind, self._allowed(context, ident), change, self._columns(names))
        return self._presenter(context, names)(row)

    def delete(self, context, ident):
        """Delete a record."""
        self.served(context)
        records.delete(context, self.kind, self._allowed(context, ident))
        return Answer(status=204)

    def served(self, context):
        """Do nothing when the noun is there at the request's version.

        :raises failures.ResourceNotFound: it came later.
        """
        if context.minor < self.served_since:
            raise failures.ResourceNotFound(hint=f' /v1/{self.path} needs API version 1.{self.served_since}.')

    def ident(self, context, text):
        """Give the uuid or the name that stands for a record in a request.

        :raises failures.InvalidInput: it can be neither.
        :raises failures.RecordNotFound: it is a name, which this version does not know.
        """
        if uuidutils.is_uuid_like(text):
            return str(uuidutils.uuid.UUID(text))
        if self.names_since is None:
            raise failures.InvalidInput(reason=f'Expected UUID for {self.kind.what}: {text}')
        if not node_ident.is_ident(text):
            raise failures.InvalidInput(reason=f'Expected UUID or name for {self.kind.what}: {text}')
        if context.minor < self.names_since:
            raise failures.RecordNotFound(what=self.kind.what.capitalize(), ident=text)
        return text

    def _allowed(self, context, text):
        """Give the uuid or the name of a record that the caller may do it to."""
        ident = self.ident(context, text)
        if self.kind.has_node:
            access.record(context, self.kind, ident)
        return ident

    def _listed(self, context, asked, detail):
        if asked.get('detail') is not None:
            context.needs(self.detail_since, "the argument 'detail'")
        if detail or asked.get('detail'):
            if 'fields' in asked:
                raise failures.InvalidInput(reason="Can't fetch a subset of fields with 'detail' set")
            return self._all(context)
        return self._selected(context, asked['fields']) if 'fields' in asked else (*self.listed, 'links')

    def _all(self, context):
        return tuple(name for name, since in self.since.items() if since <= context.minor)

    def _selected(self, context, given):
        context.needs(8, "the argument 'fields'")
        names = tuple(dict.fromkeys(name for each in given for name in each))
        for name in names:
            if name not in self.since:
                raise failures.InvalidInput(reason=f'Field(s) "{name}" are not valid')
            self._check_field(context, name)
        if not names:
            raise failures.InvalidInput(reason="The argument 'fields' names no field.")
        return names

    def _check_field(self, context, name):
        context.needs(self.since.get(name, 1), f"the field '{name}'")

    def _columns(self, names):
        # The uuid is always read: links and the next page are made of it.
        return ('uuid', *(name for name in names if name in self.kind.table.c and name != 'uuid'))

    def _presenter(self, context, names):
        """Make the function that turns a row into a record as clients see it."""
        makers = [(name, self._maker(context, name)) for name in names]
        return lambda row: {name: make(row) for name, make in makers}

    def _maker(self, context, name):
        """Make the function that gives a field of a row, as clients see it."""
        if name == 'links':
            return lambda row: context.links(self.path, row.uuid)
        if name in self.members:
            return lambda row: context.links(self.path, row.uuid, name)
        value = operator.attrgetter(name)
        rule = self.secret.get(name)
        if rule and not context.may(rule):
            told = f'** Value redacted: Requires permission {rule} access. Permission denied. **'
            return lambda row: {'redacted_contents': told}
        if name in self.kind.json_fields:
            # Stored text goes into the answer as it is.
            return lambda row: orjson.Fragment(value(row))
        return value

    def _settable(self, body):
        """Give all settable fields of a record as a client wants it.

        :raises failures.InvalidInput: one that has no default is missing.
        """
        given = {name: value for name, value in patch.given(body).items() if value is not None and name != 'uuid'}
        for name in self.required:
            if name not in given:
                raise failures.InvalidInput(reason=f"'{name}' is a required property")
        return self.kind.settable | given


def parse_node(context, ident):
    """Give the uuid or the name of a node that stands in a query.

    :raises failures.VersionTooLow: it is a name, and names came later.
    :raises failures.InvalidIdent: it can be neither.
    """
    if not uuidutils.is_uuid_like(ident):
        context.needs(5, 'the name of a node')
    return node_ident.ident(context, ident)
