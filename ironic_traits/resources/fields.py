"""The types of the tables: resources, fields, filters and policy rules."""

import dataclasses
import enum
import functools
from typing import Any

#: ``secrets_rule`` of a field whose secrets no caller sees.
NOBODY = ''


class When(enum.Flag):
    """The requests with which clients set a field."""

    NEVER = 0
    #: POST
    AT_CREATION = enum.auto()
    #: PATCH
    LATER = enum.auto()
    ALWAYS = AT_CREATION | LATER


class Argument(enum.Enum):
    """The types of filters. ``ironic_traits/api/arguments.py`` has the WSME type of each."""

    BOOLEAN = enum.auto()
    CONDUCTOR_GROUP = enum.auto()
    FAULT = enum.auto()
    LONG_TEXT = enum.auto()
    MAC = enum.auto()
    OPTIONAL_FIELDS = enum.auto()
    SOURCE = enum.auto()
    TEXT = enum.auto()
    TEXTS = enum.auto()
    TRAITS = enum.auto()
    UUID = enum.auto()


@dataclasses.dataclass(frozen=True)
class Rule:
    """A policy rule of single fields, which applies in addition to those of the resource.

    :ivar name: its name.
    :ivar check: the check string that is the default.
    :ivar description: what it allows, as a sentence.
    """

    name: str
    check: str
    description: str


@dataclasses.dataclass(frozen=True)
class Filter:
    """A filter of a list.

    :ivar type: the type of its value.
    :ivar since: the minor version that brought it; None for that of its field.
    :ivar name: its name; '' for that of its field.
    :ivar in_requests: whether requests for nodes (matches and reservations) have it, too.
    :ivar words: what the web page calls it, if it is true and if it is false; () if its menu does not have it.
    """

    type: Argument
    since: int | None = None
    name: str = ''
    in_requests: bool = True
    words: tuple[str, ...] = ()

    @property
    def argument(self) -> str:
        """The name of its query parameter."""
        return self.name.replace('_', '-') if self.type in (Argument.TRAITS, Argument.SOURCE) else self.name


@dataclasses.dataclass(frozen=True)
class Column:
    """The column of a field in the list of the web page.

    :ivar place: its place: smaller ones come first.
    :ivar label: its name on the page.
    :ivar is_facet: whether ``/v1/facets`` and the page count nodes by it. Then it has a filter and a column in the
        database, and many nodes should share a value.
    """

    place: int
    label: str
    is_facet: bool = False


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a resource.

    :ivar name: its name in requests and responses, and that of its column.
    :ivar since: the minor version that brought it.
    :ivar settable: the requests with which clients set it.
    :ivar default: its value if the client does not set it, or a PATCH removes it. (That of a field that is settable
        at the creation only is the default of its column.)
    :ivar is_column: whether the database has a column for it. Other fields are computed, or always null.
    :ivar is_selectable: whether ``fields`` can select it.
    :ivar is_detail: whether responses with all fields have it. Other fields are shown only if ``fields`` selects them.
    :ivar filter: the filter of lists that compares it; None if there is none.
    :ivar column: its column in the list of the web page; None if there is none.
    :ivar change_rule: the policy rule for changing it; None for that of the resource.
    :ivar show_rule: the policy rule for showing it; None for that of the resource. Other callers see a placeholder.
    :ivar secrets_rule: name of the policy rule for showing its secrets, or NOBODY; None if it has no secrets. Other
        callers see a mask in their place, from the column ``{name}_masked``.
    """

    name: str
    since: int
    settable: When = When.NEVER
    default: Any = None
    is_column: bool = True
    is_selectable: bool = True
    is_detail: bool = True
    filter: Filter | None = None
    column: Column | None = None
    change_rule: Rule | None = None
    show_rule: Rule | None = None
    secrets_rule: str | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Resource:
    """A resource of the Bare Metal API.

    :ivar name: its name: that of its table in the database, and of its lists in documents.
    :ivar path: its path below /v1.
    :ivar fields: its fields, in the order in which they are shown.
    :ivar listed: names of the fields that lists show without ``fields`` and ``detail``, in the order of such a list.
    :ivar required: names of the fields that must not be null, and have no default; the first that is missing is named.
    :ivar filters: the filters of its list that do not compare a field.
    :ivar links: {key of links to the resources below an item: the minor version that brought it}.
    :ivar hidden: columns of its table that no response shows, besides the id and the masks of secrets.
    :ivar served_since: the minor version that brought it.
    :ivar detail_since: the minor version that brought the query parameter ``detail``; None if its lists always show
        all fields.
    :ivar names_since: the minor version that brought names instead of uuids; None if its items have no names.
    :ivar identifiers: sets of fields that identify an item in a document; the first set that the item states in full is
        used.
    :ivar children: the resources whose items belong to one of this resource, as documents have them.
    """

    name: str
    path: str
    fields: tuple[Field, ...]
    listed: tuple[str, ...]
    required: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    links: dict[str, int] = dataclasses.field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    served_since: int = 1
    detail_since: int | None = 43
    names_since: int | None = None
    identifiers: tuple[tuple[str, ...], ...] = (('uuid',),)
    children: tuple['Resource', ...] = ()

    def __getitem__(self, name: str) -> Field:
        """Return the field of a name."""
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a field of a name."""
        return name in self._by_name

    @property
    def singular(self) -> str:
        """The name of one item, for messages."""
        return self.plural if self.plural == 'chassis' else self.plural[:-1]

    @property
    def url(self) -> str:
        """The path of its list."""
        return f'/v1/{self.path}'

    @property
    def page_key(self) -> str:
        """The key of the items in a page."""
        return self.path.rpartition('/')[2]

    @property
    def owner_field(self) -> str:
        """The field of its children that names the item which they belong to."""
        return f'{self.singular}_uuid'

    @property
    def plural(self) -> str:
        """The name of its items, for messages."""
        return self.path.replace('/', ' ').replace('_', ' ')

    @property
    def has_details(self) -> bool:
        """Whether its lists have all fields at the path /detail below them: before ``detail`` came, only there."""
        return self.served_since < (self.detail_since or 0)

    @functools.cached_property
    def since(self) -> dict[str, int]:
        """{field: the minor version that brought it}."""
        return {field.name: field.since for field in self.fields}

    @functools.cached_property
    def details(self) -> tuple[str, ...]:
        """Names of the fields in responses with all fields, in their order."""
        return tuple(field.name for field in self.fields if field.is_detail)

    @functools.cached_property
    def settable(self) -> dict[str, Any]:
        """{field that a PATCH may change: its value if the client does not set it}."""
        return {field.name: field.default for field in self.fields if When.LATER in field.settable}

    @functools.cached_property
    def later(self) -> tuple[str, ...]:
        """Names of the fields that clients cannot set at the creation, but only later, a tuple."""
        return tuple(field.name for field in self.fields if field.settable is When.LATER)

    @functools.cached_property
    def optional(self) -> tuple[str, ...]:
        """Names of the fields with a filter that are null if the client does not set them, a tuple."""
        fields = (each for each in self.fields if each.filter and each.settable and each.default is None)
        return tuple(each.name for each in fields if each.name not in self.required)

    @functools.cached_property
    def secrets(self) -> dict[str, str]:
        """{field with secrets: name of the policy rule for showing them, or NOBODY}."""
        return {field.name: field.secrets_rule for field in self.fields if field.secrets_rule is not None}

    @functools.cached_property
    def columns(self) -> dict[str, Column]:
        """{field: its column on the web page}, in the order of the page."""
        columns = {field.name: field.column for field in self.fields if field.column}
        return dict(sorted(columns.items(), key=lambda each: (each[1].place, each[0])))

    @functools.cached_property
    def facets(self) -> tuple[str, ...]:
        """Names of the fields that nodes are counted by, in the order of the page."""
        return tuple(name for name, column in self.columns.items() if column.is_facet)

    @functools.cached_property
    def list_filters(self) -> dict[str, Filter]:
        """{name: Filter} of all filters of the list, each with its name and version; the oldest first."""
        of_fields = [
            dataclasses.replace(field.filter, name=field.name, since=field.filter.since or field.since)
            for field in self.fields
            if field.filter
        ]
        filters = sorted([*of_fields, *self.filters], key=lambda each: each.since or 0)
        return {each.name: each for each in filters}

    @functools.cached_property
    def change_rules(self) -> tuple[Rule, ...]:
        """The policy rules for changing single fields, without duplicates, a tuple."""
        return tuple(dict.fromkeys(field.change_rule for field in self.fields if field.change_rule))

    @functools.cached_property
    def show_rules(self) -> tuple[Rule, ...]:
        """The policy rules for showing single fields, without duplicates, a tuple."""
        return tuple(dict.fromkeys(field.show_rule for field in self.fields if field.show_rule))

    @functools.cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}
