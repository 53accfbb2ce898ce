"""WSME types of what requests carry and answers have.

Requests: validated here, by ``validate``, which gives the value as the service keeps it.  Answers: documentation; the
tests read every answer with them.
"""

import datetime
import re

import wsme.types
from oslo_utils import strutils, uuidutils

from ironic_traits import failures
from ironic_traits.deploy import states
from ironic_traits.matching import traits as trait_names

_GROUP = re.compile(r'[A-Za-z0-9_.-]{0,255}')


class Text(wsme.types.UserType):
    """A string of a certain length."""

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
            raise ValueError(f'{value!r} is too long: {self.maximum} characters at most')
        return value


class Uuid(wsme.types.UserType):
    """A uuid; it is kept in lower case with dashes."""

    basetype = str
    name = 'uuid'

    def validate(self, value):
        if not isinstance(value, str) or not uuidutils.is_uuid_like(value):
            raise ValueError(f'Expected UUID, not {value!r}')
        return str(uuidutils.uuid.UUID(value))


class Boolean(wsme.types.UserType):
    """A boolean, or the words for it."""

    basetype = str
    name = 'boolean'

    def validate(self, value):
        if isinstance(value, (bool, str)):
            return strutils.bool_from_string(value, strict=True)
        raise ValueError(f'{value!r} is not a boolean')


class Mac(wsme.types.UserType):
    """A MAC address; it is kept in lower case."""

    basetype = str
    name = 'MAC address'
    _pattern = re.compile(r'[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}')

    def validate(self, value):
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValueError(f'Expected valid MAC address, not {value!r}')
        return value.lower()


class Integer(wsme.types.UserType):
    """An integer that every database keeps: 32 bits."""

    basetype = str
    name = 'integer'

    def validate(self, value):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f'{value!r} is not an integer')
        if not -(2**31) <= value < 2**31:
            raise ValueError(f'{value} is not an integer of 32 bits')
        return value


class Limit(wsme.types.UserType):
    """Most items in a page."""

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
    """asc or desc."""

    basetype = str
    name = 'sort direction'

    def validate(self, value):
        if value not in ('asc', 'desc'):
            raise ValueError(f"Invalid sort direction: {value}. Acceptable values are 'asc' or 'desc'")
        return value


class Names(wsme.types.UserType):
    """Names of fields, joined by commas; case does not count."""

    basetype = str
    name = 'names'

    def validate(self, value):
        return [name.strip() for name in value.lower().split(',') if name.strip()]


class TraitNames(wsme.types.UserType):
    """Well-formed trait names, joined by commas, known or not; at least one."""

    basetype = str
    name = 'trait names'

    def validate(self, value):
        names = value.split(',')
        for name in names:
            if not trait_names.is_well_formed(name):
                nearest = trait_names.nearest(name)
                hint = f". Did you mean '{nearest}'?" if nearest else ''
                raise ValueError(
                    f"'{name}' cannot be a trait. A list of traits is expected: names of A-Z, 0-9 and _, "
                    f'255 characters at most, joined by commas{hint}'
                )
        return frozenset(names)


class Trait(wsme.types.UserType):
    """A trait that a node may carry."""

    basetype = str
    name = 'trait'

    def validate(self, value):
        if not isinstance(value, str):
            raise ValueError(f'{value!r} is not a string')
        if not trait_names.is_trait(value):
            raise failures.InvalidTrait(value, trait_names.nearest(value))
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
    """A group of nodes; case does not count."""

    basetype = str
    name = 'conductor group'

    def validate(self, value):
        if not isinstance(value, str) or not _GROUP.fullmatch(value):
            raise ValueError(f"{value!r} is no group: 255 letters, digits, '-', '_' and '.' at most")
        return value.lower()


class Fault(wsme.types.UserType):
    """What can be wrong with a node."""

    basetype = str
    name = 'fault'

    def validate(self, value):
        if value not in states.FAULTS:
            raise ValueError(f'Unrecognized fault "{value}" is specified, allowed faults are {states.FAULTS}')
        return value


class Texts(wsme.types.UserType):
    """Strings joined by commas, or a list of them."""

    basetype = str
    name = 'strings'
    #: Most strings.  The databases limit the values of one statement, and SQLite does so first.
    maximum = 1000

    def validate(self, value):
        if isinstance(value, str):
            value = [text.strip() for text in value.split(',') if text.strip()]
        elif not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f'{value!r} is no string, and no list of strings')
        if len(value) > self.maximum:
            raise ValueError(f'{len(value)} strings are too many: {self.maximum} at most')
        return value


class PositiveInteger(wsme.types.UserType):
    """A number of 1 or more."""

    basetype = int
    name = 'positive integer'

    def __init__(self, maximum=None):
        self.maximum = maximum

    def validate(self, value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f'Expected an integer, not {value!r}')
        if value < 1:
            raise ValueError('it has to be a positive integer')
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f'it may be {self.maximum} at most')
        return value


class Moment(wsme.types.UserType):
    """A date and a time with an offset; it is kept in UTC, without one."""

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
                f'Expected a date with a time and an offset, as 2026-01-01T00:00:00+00:00, not {value!r}'
            ) from error


BOOLEAN = Boolean()
UUID = Uuid()
TEXT = Text()
TEXT_255 = Text(maximum=255)
OBJECT = Object()
MOMENT = datetime.datetime


class Link(wsme.types.Base):
    """An address."""

    href = str
    rel = str
    type = str


LINKS = [Link]


class PatchOperation(wsme.types.Base):
    """One operation of a JSON patch (RFC 6902)."""

    op = wsme.types.wsattr(wsme.types.Enum(str, 'add', 'replace', 'remove'), mandatory=True)
    path = wsme.types.wsattr(Text(minimum=2), mandatory=True)
    value = Any()
