"""The declarations of the layers about a resource, and their differences from the resource's table."""

import dataclasses

import wsme.types

from ironic_traits import policies
from ironic_traits.db import tables
from ironic_traits.resources.fields import NOBODY


@dataclasses.dataclass(frozen=True)
class Declared:
    """The declarations of the layers about a resource.

    :ivar columns: {column in db/tables/: whether an INSERT needs a value}.
    :ivar body: keys of the WSME types of requests.
    :ivar item: keys of the WSME type of responses.
    :ivar policies: names of all policy rules.
    :ivar rules: names of the policy rules of its single fields.
    :ivar conditions: names of the filters with their own condition in inventory.
    """

    columns: dict[str, bool]
    body: frozenset[str]
    item: frozenset[str]
    policies: frozenset[str]
    rules: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()


def declared(resource, body, item, rules=(), conditions=()):
    """Return the declarations of the layers about a resource.

    :param body: WSME type of the body of a request.
    :param item: WSME type of an item in a response.
    :param rules: as ``Declared`` has them, and so are ``conditions``.
    """
    columns = tables.metadata.tables[resource.name].c
    return Declared(
        {column.name: not column.nullable for column in columns},
        frozenset(attribute.name for attribute in wsme.types.list_attributes(body)),
        frozenset(attribute.name for attribute in wsme.types.list_attributes(item)),
        frozenset(rule.name for rule in policies.list_rules()),
        frozenset(rules),
        frozenset(conditions),
    )


def problems(resource, layers):
    """Generate a sentence for each fact about a resource that is declared in one place only.

    :param resource: ironic_traits.resources.fields.Resource.
    :param layers: Declared.
    """
    yield from _columns(resource, layers.columns)
    yield from _types(resource, layers)
    yield from _rules(resource, layers)
    yield from _filters(resource, layers)


def _columns(resource, columns):
    stored = {field.name for field in resource.fields if field.is_column}
    masks = {f'{name}_masked' for name in resource.secrets}
    for name in sorted(columns.keys() - stored - masks - {'id', *resource.hidden}):
        yield f'{resource.name}: the column {name} has no field in the table.'
    for name in sorted((stored | masks | set(resource.hidden)) - columns.keys()):
        yield f'{resource.name}: {name} has no column in db/tables/.'
    for name, default in resource.settable.items():
        if columns.get(name) and default is None and name not in resource.required:
            yield f'{resource.name}: {name} cannot be null, and needs a default in the table, or must be required.'


def _types(resource, layers):
    for name in (*resource.listed, *resource.required):
        if name not in resource:
            yield f'{resource.name}: {name} is listed or required, but no field.'
    settable = {field.name for field in resource.fields if field.settable}
    for name in sorted(layers.body - settable):
        yield f'{resource.name}: clients can send {name}, but the table does not say when it is settable.'
    for name in sorted(settable - layers.body):
        yield f'{resource.name}: {name} is settable, but the WSME type of requests lacks it.'
    shown = {'links', *resource.since, *resource.links}
    for name in sorted(layers.item - shown):
        yield f'{resource.name}: responses have {name}, which the table lacks.'
    for name in sorted(shown - layers.item):
        yield f'{resource.name}: the WSME type of responses lacks {name}.'


def _rules(resource, layers):
    named = {rule.name for rule in (*resource.change_rules, *resource.show_rules)}
    for name in sorted(layers.rules - named):
        yield f'{resource.name}: no field names the policy rule {name}, so it is never asked.'
    for name in sorted((named | set(resource.secrets.values()) - {NOBODY}) - layers.policies):
        yield f'{resource.name}: a field names the policy rule {name}, which policies/ lacks.'


def _filters(resource, layers):
    for name, each in resource.list_filters.items():
        if each.since is None:
            yield f'{resource.name}: the filter {name} has no version.'
        if not (name in layers.columns or name in layers.conditions):
            yield f'{resource.name}: the filter {name} is no column, and has no condition in inventory.'
    for name in sorted(layers.conditions - resource.list_filters.keys()):
        yield f'{resource.name}: inventory has a condition for {name}, which is no filter.'
