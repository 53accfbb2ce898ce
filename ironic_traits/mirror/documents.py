"""Conversion of nodes and records in responses of Ironic into rows of the inventory.

A response is not trusted: a value that cannot be stored makes its item an odd one, which is left out.
"""

import datetime
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import orjson
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import Json
from ironic_traits.inventory.holds.allocations import KIND
from ironic_traits.inventory.mirrored import mirrored_nodes, mirrored_records
from ironic_traits.inventory.mirrored.mirror_admission import MirroredNode
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.matching.traits import is_trait
from ironic_traits.mirror.cloud import Document, Unreadable
from ironic_traits.resources.fields import Resource
from ironic_traits.resources.nodes import NODES

_MAX_INTEGER = 2**31


class Odd(Unreadable):
    """An item has a value that cannot be stored. The text is a sentence."""


class CloudItem(NamedTuple):
    """An item of a cloud.

    :ivar changed: when it was changed, as text; None if never, or if it is not a time.
    """

    uuid: str
    changed: str | None
    document: Document

    @classmethod
    def read(cls, uuid: str, document: Document) -> Self:
        """Return the item of a document."""
        changed = document.get('updated_at')
        return cls(uuid, changed if isinstance(changed, str) and _known(changed) else None, document)

    @property
    def created(self) -> datetime.datetime | None:
        """When it was created; None if that is not known, or is not a time."""
        return _known(self.document.get('created_at'))


class Occupation(NamedTuple):
    """What is on a node: its instance, and whether it can be used. Fields that were not read are None.

    :ivar created: when it was created: another machine may have got its uuid since.
    """

    instance: str | None
    provision_state: str | None
    maintenance: bool | None
    created: datetime.datetime | None

    @classmethod
    def read(cls, document: Document) -> Self:
        """Return the occupation in the document of a node.

        :raises Odd: a value has another type.
        """
        columns = [tables.nodes.c[name] for name in ('instance_uuid', 'provision_state', 'maintenance')]
        # Any: their types are checked.
        values: list[Any] = [document.get(column.name) for column in columns]
        for column, value in zip(columns, values, strict=True):
            _check(column, value)
        return cls(*[*values, _known(document.get('created_at'))])


def moment(text: Any) -> datetime.datetime | None:
    """Return a time of a response as a datetime in UTC, without a time zone; None for None.

    :param text: a JSON value.
    :raises Odd: it is not a time.
    """
    if text is None:
        return None
    try:
        parsed = datetime.datetime.fromisoformat(text)
        return parsed.astimezone(datetime.UTC).replace(tzinfo=None) if parsed.tzinfo else parsed
    except (TypeError, ValueError, OverflowError):
        raise Odd(f'{_shown(text)} is not a time.') from None


def _known(text: object) -> datetime.datetime | None:
    """Return a time of a response as ``moment`` does; None if it is not a time."""
    try:
        return moment(text)
    except Odd:
        return None


def node(document: Document) -> MirroredNode:
    """Return a node of a response as a MirroredNode.

    :raises Odd: a value cannot be stored.
    """
    row = _row(NODES, tables.nodes, mirrored_nodes.COLUMNS, document)
    conductor = document.get('conductor')
    _check(tables.nodes.c.origin_conductor, conductor)
    row['origin_conductor'] = conductor
    names = document.get('traits') or []
    if not isinstance(names, list):
        raise Odd(f'{_shown(names)} is not a list of traits.')
    traits = frozenset(name for name in names if isinstance(name, str) and is_trait(name))
    invalid = sorted(_shown(name) for name in names if not isinstance(name, str) or name not in traits)
    problem = f'These are not traits in this service, and are left out: {", ".join(invalid)}.' if invalid else ''
    return MirroredNode(row, traits, problem)


def record(kind: Kind, document: Document) -> Values:
    """Return a record of a response, {column: value}.

    :raises Odd: a value cannot be stored.
    """
    return _row(kind.resource, kind.table, mirrored_records.columns(kind), document)


def allocation(document: Document) -> Values:
    """Return an allocation of a response, {column: value}.

    :raises Odd: a value cannot be stored.
    """
    lists = {name: document.get(name) or [] for name in ('traits', 'candidate_nodes')}
    for name, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise Odd(f'{_shown(value)} is not a list of {name}.')
    return record(KIND, {**document, **lists})


def _row(resource: Resource, table: sa.Table, names: Iterable[str], document: Document) -> Values:
    return {'uuid': document['uuid'], **{name: _value(resource, table.c[name], document) for name in names}}


def _value(resource: Resource, column: sa.Column, document: Document) -> object:
    """Return the value of a column. A field that an older version of the API lacks gets the value of a new item."""
    value = document.get(column.name)
    _check(column, value)
    if isinstance(column.type, sa.DateTime):
        return moment(value)
    if value is not None or column.nullable:
        return value
    default = resource[column.name].default if column.name in resource else None
    if isinstance(column.type, Json):
        return {}
    return bool(default) if isinstance(column.type, sa.Boolean) else default or ''


def _check(column: sa.Column, value: Any) -> None:
    """Raise Odd if a column of any of the databases cannot have a value."""
    if isinstance(column.type, sa.DateTime) or value is None:
        return
    is_json = isinstance(column.type, Json)
    stored = column.type.impl_instance if isinstance(column.type, sa.types.TypeDecorator) else column.type
    if type(value) not in ((dict, list) if is_json else (stored.python_type,)):
        raise Odd(f'{column.name} has {_shown(value)}, which is of another type.')
    if not is_json and isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise Odd(f'{column.name} has a number of more than 32 bits.')
    length = None if is_json else getattr(stored, 'length', None)
    if length and len(value) > length:
        raise Odd(f'{column.name} has more than {length} characters.')
    try:
        text = orjson.dumps(value)
    except TypeError as error:
        raise Odd(f'{column.name} cannot be stored: {error}.') from None
    if b'\\u0000' in text:
        raise Odd(f'{column.name} has a NUL character.')


def _shown(value: object) -> str:
    """Return a value for a message."""
    return ascii(value)[:50] if not isinstance(value, int) or abs(value) < _MAX_INTEGER else 'a large number'
