"""WSME types of the values in requests and responses.

``validate`` checks a value of a request and returns it as the service stores it. The types of responses are
documentation; the tests validate every response with them.

``schema`` of a type is the JSON schema of its values, in the notation that clients should use: ``validate`` of some
types accepts others. ``query_schema`` is that of a value in a query, where it differs.
"""

import contextlib
import datetime
import inspect
import re
import typing
from collections.abc import Collection

import wsme.types
from oslo_utils import strutils, uuidutils

from ironic_traits import failures, spelling
from ironic_traits.deploy import states
from ironic_traits.matching import sources
from ironic_traits.matching import traits as trait_names
from ironic_traits.resources.fields import Resource
from ironic_traits.uuids import canonical

_GROUP = re.compile(r'[A-Za-z0-9_.-]{0,255}')
_TEXT_SCHEMA = {'type': 'string'}


class _Type(wsme.types.UserType):
    """The base of the types of values."""

    basetype: type = str
    schema: dict = _TEXT_SCHEMA


class Text(_Type):
    """A string, with optional limits of its length."""

    def __init__(self, minimum: int = 0, maximum: int | None = None, name: str = 'string') -> None:
        self.minimum = minimum
        self.maximum = maximum
        self.name = name
        limits = {'minLength': minimum or None, 'maxLength': maximum}
        self.schema = _TEXT_SCHEMA | {key: limit for key, limit in limits.items() if limit is not None}

    def validate(self, value: typing.Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f'{value!r} is not a string')
        if len(value) < self.minimum:
            raise ValueError('it may not be empty')
        if self.maximum is not None and len(value) > self.maximum:
            raise ValueError(f'{value!r} is too long: it may have at most {self.maximum} characters')
        return value


class Uuid(_Type):
    """A uuid, stored in lower case with dashes."""

    name = 'uuid'
    schema = _TEXT_SCHEMA | {'format': 'uuid'}

    def validate(self, value: typing.Any) -> str:
        if not isinstance(value, str) or not uuidutils.is_uuid_like(value):
            raise ValueError(f'Expected UUID, not {value!r}')
        return canonical(value)


class Boolean(_Type):
    """A boolean, or a word for one, such as "yes"."""

    name = 'boolean'
    schema = {'type': 'boolean'}

    def validate(self, value: typing.Any) -> bool:
        if isinstance(value, (bool, str)):
            return strutils.bool_from_string(value, strict=True)
        raise ValueError(f'{value!r} is not a boolean')


class Mac(_Type):
    """A MAC address, stored in lower case."""

    name = 'MAC address'
    _pattern = re.compile(r'[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}')
    schema = _TEXT_SCHEMA | {'pattern': f'^{_pattern.pattern}$'}

    def validate(self, value: typing.Any) -> str:
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValueError(f'Expected valid MAC address, not {value!r}')
        return value.lower()


class Integer(_Type):
    """A signed integer of 32 bits, which every database can store."""

    name = 'integer'
    schema = {'type': 'integer', 'minimum': -(2**31), 'maximum': 2**31 - 1}

    def validate(self, value: typing.Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f'{value!r} is not an integer')
        if not -(2**31) <= value < 2**31:
            raise ValueError(f'{value} is not an integer of 32 bits')
        return value


class Limit(_Type):
    """The maximum number of items in a page."""

    name = 'limit'
    schema = {'type': 'integer', 'minimum': 1}

    def validate(self, value: typing.Any) -> int:
        try:
            limit = int(value)
        except ValueError:
            raise ValueError(f'Expected an integer for limit: {value}') from None
        if limit < 1:
            raise ValueError('Limit must be positive')
        return limit


class SortDirection(_Type):
    """A sort direction: asc or desc."""

    name = 'sort direction'
    schema = _TEXT_SCHEMA | {'enum': ['asc', 'desc']}

    def validate(self, value: typing.Any) -> str:
        if value not in self.schema['enum']:
            raise ValueError(f"Invalid sort direction: {value}. Acceptable values are 'asc' or 'desc'")
        return value


class Names(_Type):
    """Names of fields, separated by commas. Case does not matter."""

    name = 'names'

    def validate(self, value: typing.Any) -> list[str]:
        return [name.strip() for name in value.lower().split(',') if name.strip()]


class FieldNames(Names):
    """Names of certain fields, separated by commas; at least one."""

    name = 'field names'

    def __init__(self, fields: Collection[str]) -> None:
        self.fields = fields

    def validate(self, value: typing.Any) -> list[str]:
        names = super().validate(value)
        unknown = [name for name in names if name not in self.fields]
        if unknown or not names:
            problem = f'{unknown[0]!r} is none of them' if unknown else 'it may not be empty'
            hint = spelling.hint(unknown, self.fields)
            raise ValueError(
                f'{problem}.{hint} Names of fields are expected, separated by commas: {", ".join(self.fields)}'
            )
        return names


class TraitNames(_Type):
    """Well-formed trait names, separated by commas; at least one. They need not exist in os-traits."""

    name = 'trait names'
    schema = _TEXT_SCHEMA | {'pattern': '^[A-Z0-9_]{1,255}(,[A-Z0-9_]{1,255})*$'}

    def validate(self, value: typing.Any) -> frozenset[str]:
        names = value.split(',')
        for name in names:
            if not trait_names.is_well_formed(name):
                nearest = trait_names.nearest(name)
                hint = spelling.question(nearest) if nearest else ''
                raise ValueError(
                    f"'{name}' cannot be a trait. A list of traits is expected: names of A-Z, 0-9 and _ with at most "
                    f'255 characters, separated by commas.{hint}'
                )
        return frozenset(names)


class Trait(_Type):
    """A trait that is allowed for a node."""

    name = 'trait'
    schema = _TEXT_SCHEMA | {'pattern': '^[A-Z0-9_]+$', 'maxLength': trait_names.MAX_LENGTH}

    def validate(self, value: typing.Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f'{value!r} is not a string')
        if not trait_names.is_trait(value):
            raise failures.InvalidTrait(value, trait_names.nearest(value))
        return value


class Source(_Type):
    """The name of a source of traits."""

    name = 'source'
    schema = _TEXT_SCHEMA | {'pattern': f'^{sources.FORM}$'}

    def validate(self, value: typing.Any) -> str:
        if not isinstance(value, str) or not sources.is_source(value):
            raise ValueError(
                f'a source is 1 to {sources.MAX_LENGTH} letters, digits, dots, underscores, colons and dashes'
            )
        return value


class WritableSource(Source):
    """The name of a source of traits that clients may write as."""

    name = 'writable source'

    def validate(self, value: typing.Any) -> str:
        value = super().validate(value)
        if sources.is_reserved(value):
            raise ValueError(f'the source {value} belongs to the service itself. Clients cannot write as it')
        return value


class Object(_Type):
    """Any JSON object."""

    name = 'object'
    schema = {'type': 'object'}

    def validate(self, value: typing.Any) -> dict[str, typing.Any]:
        if not isinstance(value, dict):
            raise ValueError(f'{value!r} is not an object')
        return value


class Any(_Type):
    """Any JSON value."""

    name = 'any'
    schema: dict = {}

    def validate(self, value: typing.Any) -> typing.Any:
        return value


class ConductorGroup(_Type):
    """The name of a conductor group. Case does not matter."""

    name = 'conductor group'
    schema = _TEXT_SCHEMA | {'pattern': f'^{_GROUP.pattern}$'}

    def validate(self, value: typing.Any) -> str:
        if not isinstance(value, str) or not _GROUP.fullmatch(value):
            raise ValueError(
                f"{value!r} is not a conductor group: up to 255 letters, digits, '-', '_' and '.' are allowed"
            )
        return value.lower()


class Fault(_Type):
    """A fault of a node."""

    name = 'fault'
    schema = _TEXT_SCHEMA | {'enum': list(states.FAULTS)}

    def validate(self, value: typing.Any) -> str:
        if value not in states.FAULTS:
            raise ValueError(f'Unrecognized fault "{value}" is specified, allowed faults are {states.FAULTS}')
        return value


class Texts(_Type):
    """Strings separated by commas, or a list of strings."""

    name = 'strings'
    schema = {'oneOf': [_TEXT_SCHEMA, {'type': 'array', 'items': _TEXT_SCHEMA}]}
    query_schema = _TEXT_SCHEMA
    #: Maximum number of strings. Databases limit the number of values in a statement; SQLite has the lowest limit.
    maximum = 1000

    def validate(self, value: typing.Any) -> list[str]:
        if isinstance(value, str):
            value = [text.strip() for text in value.split(',') if text.strip()]
        elif not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f'{value!r} is neither a string nor a list of strings')
        if len(value) > self.maximum:
            raise ValueError(f'{len(value)} strings are too many: at most {self.maximum} are allowed')
        return value


class PositiveInteger(_Type):
    """An integer of 1 or more.

    :param is_converted: whether to take also what Python converts to an integer, such as "5" and 5.0, as Ironic does.
    """

    name = 'positive integer'

    def __init__(self, maximum: int | None = None, is_converted: bool = False) -> None:
        self.maximum, self.is_converted = maximum, is_converted
        limits = {'minimum': 1} if maximum is None else {'minimum': 1, 'maximum': maximum}
        self.schema = {'type': 'integer', **limits}

    def validate(self, value: typing.Any) -> int:
        if self.is_converted:
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f'Expected an integer, not {value!r}')
        if value < 1:
            raise ValueError('it must be a positive integer')
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f'it may be at most {self.maximum}')
        return value


class Moment(_Type):
    """A date and a time with an offset, stored in UTC without an offset."""

    name = 'moment'
    schema = _TEXT_SCHEMA | {'format': 'date-time'}

    def validate(self, value: typing.Any) -> datetime.datetime:
        try:
            moment = datetime.datetime.fromisoformat(value)
            if moment.tzinfo is None:
                raise ValueError('no offset')
            return moment.astimezone(datetime.UTC).replace(tzinfo=None)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f'Expected a date with a time and an offset, such as 2026-01-01T00:00:00+00:00, not {value!r}'
            ) from error


class QueryMoment(Moment):
    """A date and a time with an offset, in a query."""

    def validate(self, value: typing.Any) -> datetime.datetime:
        # In a query, an unescaped + is a space.
        return super().validate(re.sub(r' (\d\d:?\d\d)\Z', r'+\1', value) if 'T' in value else value)


class Base(wsme.types.Base):
    """The base of all types that have attributes; they keep the order of their declaration.

    :cvar _resource: the table of the resource whose fields its attributes are (``ironic_traits.resources``), which says
        which version brought each; None if there is none.
    :cvar _since: {attribute: the minor version that brought it}, if it is neither in the table nor as old as the route.
    """

    _resource: Resource | None = None
    _since: dict[str, int] = {}

    def __init_subclass__(cls, **arguments: typing.Any) -> None:
        super().__init_subclass__(**arguments)
        # WSME would find the order in the source code of the class. That would take half of the service's start.
        names = (name for each in cls.__mro__ for name, value in vars(each).items() if _is_attribute(name, value))
        cls._wsme_attr_order = list(dict.fromkeys(names))


def _is_attribute(name: str, value: typing.Any) -> bool:
    return not name.startswith('_') and not inspect.isroutine(value) and not isinstance(value, property)


BOOLEAN = Boolean()
UUID = Uuid()
TEXT = Text()
TEXT_255 = Text(maximum=255)
OBJECT = Object()
MOMENT = datetime.datetime


class Link(Base):
    """A link to a resource."""

    href = str
    rel = str
    type = str


LINKS = [Link]


class Stored(Base):
    """The fields that most resources have in a response."""

    created_at = MOMENT
    updated_at = MOMENT
    links = LINKS


class PatchOperation(Base):
    """One operation of a JSON patch (RFC 6902)."""

    op = wsme.types.wsattr(wsme.types.Enum(str, 'add', 'replace', 'remove'), mandatory=True)
    path = wsme.types.wsattr(Text(minimum=2), mandatory=True)
    value = Any()
