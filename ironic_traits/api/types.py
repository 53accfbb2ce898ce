"""WSME types of the values in requests and responses.

``validate`` checks a value of a request and returns it as the service stores it. The types of responses are
documentation; the tests validate every response with them.
"""

import datetime
import inspect
import re

import wsme.types
from oslo_utils import strutils, uuidutils

from ironic_traits import failures
from ironic_traits.deploy import states
from ironic_traits.inventory import history
from ironic_traits.matching import sources
from ironic_traits.matching import traits as trait_names

_GROUP = re.compile(r'[A-Za-z0-9_.-]{0,255}')


class Text(wsme.types.UserType):
    """A string, with optional limits of its length."""

    basetype = str

    def __init__(self, minimum=0, maximum=None, name='string'):
        self.minimum = minimum
        self.maximum = maximum
        self.name = name

    def validate(self, value):
        if not isinstance(value, str):
            raise ValueError(f'{value!r} is not a string')
        if len(value) < self.minimum:
            raise ValueError('it may not be empty')
        if self.maximum is not None and len(value) > self.maximum:
            raise ValueError(f'{value!r} is too long: it may have at most {self.maximum} characters')
        return value


class Uuid(wsme.types.UserType):
    """A uuid, stored in lower case with dashes."""

    basetype = str
    name = 'uuid'

    def validate(self, value):
        if not isinstance(value, str) or not uuidutils.is_uuid_like(value):
            raise ValueError(f'Expected UUID, not {value!r}')
        return str(uuidutils.uuid.UUID(value))


class Boolean(wsme.types.UserType):
    """A boolean, or a word for one, such as "yes"."""

    basetype = str
    name = 'boolean'

    def validate(self, value):
        if isinstance(value, (bool, str)):
            return strutils.bool_from_string(value, strict=True)
        raise ValueError(f'{value!r} is not a boolean')


class Mac(wsme.types.UserType):
    """A MAC address, stored in lower case."""

    basetype = str
    name = 'MAC address'
    _pattern = re.compile(r'[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}')

    def validate(self, value):
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValueError(f'Expected valid MAC address, not {value!r}')
        return value.lower()


class Integer(wsme.types.UserType):
    """A signed integer of 32 bits, which every database can store."""

    basetype = str
    name = 'integer'

    def validate(self, value):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f'{value!r} is not an integer')
        if not -(2**31) <= value < 2**31:
            raise ValueError(f'{value} is not an integer of 32 bits')
        return value


class Limit(wsme.types.UserType):
    """The maximum number of items in a page."""

    basetype = str
    name = 'limit'

    def validate(self, value):
        try:
            limit = int(value)
        except ValueError:
            raise ValueError(f'Expected an integer for limit: {value}') from None
        if limit < 1:
            raise ValueError('Limit must be positive')
        return limit


class SortDirection(wsme.types.UserType):
    """A sort direction: asc or desc."""

    basetype = str
    name = 'sort direction'

    def validate(self, value):
        if value not in ('asc', 'desc'):
            raise ValueError(f"Invalid sort direction: {value}. Acceptable values are 'asc' or 'desc'")
        return value


class Names(wsme.types.UserType):
    """Names of fields, separated by commas. Case does not matter."""

    basetype = str
    name = 'names'

    def validate(self, value):
        return [name.strip() for name in value.lower().split(',') if name.strip()]


class TraitNames(wsme.types.UserType):
    """Well-formed trait names, separated by commas; at least one. They need not exist in os-traits."""

    basetype = str
    name = 'trait names'

    def validate(self, value):
        names = value.split(',')
        for name in names:
            if not trait_names.is_well_formed(name):
                nearest = trait_names.nearest(name)
                hint = f". Did you mean '{nearest}'?" if nearest else ''
                raise ValueError(
                    f"'{name}' cannot be a trait. A list of traits is expected: names of A-Z, 0-9 and _ with at most "
                    f'255 characters, separated by commas{hint}'
                )
        return frozenset(names)


class Trait(wsme.types.UserType):
    """A trait that is allowed for a node."""

    basetype = str
    name = 'trait'

    def validate(self, value):
        if not isinstance(value, str):
            raise ValueError(f'{value!r} is not a string')
        if not trait_names.is_trait(value):
            raise failures.InvalidTrait(value, trait_names.nearest(value))
        return value


class Source(wsme.types.UserType):
    """The name of a source of traits."""

    basetype = str
    name = 'source'

    def validate(self, value):
        if not isinstance(value, str) or not sources.is_source(value):
            raise ValueError(
                f'a source is 1 to {sources.MAX_LENGTH} letters, digits, dots, underscores, colons and dashes'
            )
        return value


class WritableSource(Source):
    """The name of a source of traits that clients may write as."""

    name = 'writable source'

    def validate(self, value):
        value = super().validate(value)
        if sources.is_reserved(value):
            raise ValueError(f'the source {value} belongs to the service itself. Clients cannot write as it')
        return value


class Object(wsme.types.UserType):
    """Any JSON object."""

    basetype = str
    name = 'object'

    def validate(self, value):
        if not isinstance(value, dict):
            raise ValueError(f'{value!r} is not an object')
        return value


class Any(wsme.types.UserType):
    """Any JSON value."""

    basetype = str
    name = 'any'

    def validate(self, value):
        return value


class ConductorGroup(wsme.types.UserType):
    """The name of a conductor group. Case does not matter."""

    basetype = str
    name = 'conductor group'

    def validate(self, value):
        if not isinstance(value, str) or not _GROUP.fullmatch(value):
            raise ValueError(
                f"{value!r} is not a conductor group: up to 255 letters, digits, '-', '_' and '.' are allowed"
            )
        return value.lower()


class Fault(wsme.types.UserType):
    """A fault of a node."""

    basetype = str
    name = 'fault'

    def validate(self, value):
        if value not in states.FAULTS:
            raise ValueError(f'Unrecognized fault "{value}" is specified, allowed faults are {states.FAULTS}')
        return value


class Texts(wsme.types.UserType):
    """Strings separated by commas, or a list of strings."""

    basetype = str
    name = 'strings'
    #: Maximum number of strings. Databases limit the number of values in a statement; SQLite has the lowest limit.
    maximum = 1000

    def validate(self, value):
        if isinstance(value, str):
            value = [text.strip() for text in value.split(',') if text.strip()]
        elif not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f'{value!r} is neither a string nor a list of strings')
        if len(value) > self.maximum:
            raise ValueError(f'{len(value)} strings are too many: at most {self.maximum} are allowed')
        return value


class PositiveInteger(wsme.types.UserType):
    """An integer of 1 or more."""

    basetype = int
    name = 'positive integer'

    def __init__(self, maximum=None):
        self.maximum = maximum

    def validate(self, value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f'Expected an integer, not {value!r}')
        if value < 1:
            raise ValueError('it must be a positive integer')
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f'it may be at most {self.maximum}')
        return value


class EventType(wsme.types.UserType):
    """The type of an event in the history of a node."""

    basetype = str
    name = 'event type'

    def validate(self, value):
        if value not in history.EVENT_TYPES:
            raise ValueError(f'{value!r} is not a type of events. The types are {", ".join(history.EVENT_TYPES)}')
        return value


class Moment(wsme.types.UserType):
    """A date and a time with an offset, stored in UTC without an offset."""

    basetype = str
    name = 'moment'

    def validate(self, value):
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

    def validate(self, value):
        # In a query, an unescaped + is a space.
        return super().validate(re.sub(r' (\d\d:?\d\d)\Z', r'+\1', value) if 'T' in value else value)


class Base(wsme.types.Base):
    """The base of all types that have attributes; they keep the order of their declaration."""

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        # WSME would find the order in the source code of the class. That would take half of the service's start.
        names = (name for each in cls.__mro__ for name, value in vars(each).items() if _is_attribute(name, value))
        cls._wsme_attr_order = list(dict.fromkeys(names))


def resolve():
    """Resolve the datatypes of the attributes of all types.

    Otherwise WSME does so when a request first uses an attribute, and fails if two threads do so at the same time.
    """
    for each in wsme.types.registry.complex_types:
        for attribute in wsme.types.list_attributes(each):
            _ = attribute.datatype


def _is_attribute(name, value):
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


class PatchOperation(Base):
    """One operation of a JSON patch (RFC 6902)."""

    op = wsme.types.wsattr(wsme.types.Enum(str, 'add', 'replace', 'remove'), mandatory=True)
    path = wsme.types.wsattr(Text(minimum=2), mandatory=True)
    value = Any()
