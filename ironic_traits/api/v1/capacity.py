"""/v1/capacity: how many nodes match flavors, and how many of these are free."""

import dataclasses
from collections.abc import Iterator, Sequence, Sized
from typing import Any

import wsme.types

from ironic_traits import failures, printing
from ironic_traits.api import body as bodies
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import given_fields, stated_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import match_types, node_ident, node_selection
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.search import capacity
from ironic_traits.inventory.search.capacity import Flavor
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.what_if import TraitChange, WhatIf
from ironic_traits.inventory.traits import trait_catalogue
from ironic_traits.matching import requests
from ironic_traits.matching.topology import TRAIT_PREFIX
from ironic_traits.matching.traits import MAX_NAMES
from ironic_traits.peers import nova
from ironic_traits.resources.additions import ADDED

#: Maximum number of flavors, of nodes, of changes and of fields to group by in one request.
MAX_FLAVORS, MAX_NODES, MAX_CHANGES, MAX_BY = 1000, 1000, 100, 10


class FlavorBody(match_types.RequestBody):
    """A flavor with a name and ``extra_specs``, or any other request for nodes with a name."""

    name = types.TEXT_255
    extra_specs = types.Any()
    count = types.PositiveInteger(maximum=2**31 - 1)


class ChangeBody(types.Base):
    """A change of the traits of nodes."""

    node = types.TEXT
    where = types.OBJECT
    add = [types.Trait()]
    remove = [types.TEXT]


#: A request for the capacity. Built by ``type``, because ``with`` cannot be the name of an attribute of a class.
CapacityBody = type(
    'CapacityBody',
    (types.Base,),
    {
        '__doc__': 'Flavors, and what is supposed to be different.',
        'flavors': [types.OBJECT],
        'nova_flavors': types.Any(),
        'without': [types.TEXT],
        'with': [types.OBJECT],
        'by': [types.TEXT],
        'include_exclusive': types.BOOLEAN,
    },
)


class Figures(types.Base):
    """Numbers of nodes."""

    matching = int
    free = int
    held = int
    unavailable = {str: int}


class GroupFigures(Figures):
    """Numbers of nodes that have something in common."""

    value = str
    difference = Figures


class FlavorFigures(Figures):
    """Numbers of nodes that match a flavor, and how they would change."""

    name = str
    difference = Figures
    blocks = int
    largest_block = int
    by = {str: wsme.types.ArrayType(GroupFigures)}


class Capacity(types.Base):
    """The capacity for each flavor."""

    flavors = [FlavorFigures]
    warnings = [str]


class CapacityController(Resource):
    """Capacity."""

    since = ADDED

    @expose('baremetal:capacity:get', Capacity, since=ADDED, body=CapacityBody)
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> dict[str, Any]:
        fields = given_fields(body)
        flavors, sentences = read_flavors(context, grant, fields)
        if fields.get('include_exclusive'):
            flavors = [each._replace(node_request=each.node_request.with_exclusive()) for each in flavors]
        counted = capacity.count(context, grant, flavors, _what_if(context, fields), _by(fields))
        return {
            'flavors': [_show(each) for each in counted.flavors],
            'warnings': [*sentences, *warnings(context, flavors), *_vetoes(counted.vetoed)],
        }


def read_flavors(context: Context, grant: Grant, fields: dict[str, Any]) -> tuple[list[Flavor], list[str]]:
    """Return the flavors in the fields of a body.

    :param fields: {field: value}, of which ``flavors`` and ``nova_flavors`` count.
    :returns: the flavors, and sentences about the flavors of nova that are left out.
    :raises failures.Failure: as ``match_types.read_request`` and ``nova.flavors``.
    """
    documents = node_selection.names(fields, 'flavors')
    if bool(documents) == ('nova_flavors' in fields):
        raise failures.InvalidInput(
            reason="The request needs either 'flavors' (a list of at least one) or 'nova_flavors' (true, or names)."
        )
    _check_count('flavors', documents, MAX_FLAVORS)
    if 'nova_flavors' in fields:
        return _nova_flavors(context, grant, fields['nova_flavors'])
    return [_flavor(context, grant, number, document) for number, document in enumerate(documents)], []


def _nova_flavors(context: Context, grant: Grant, names: Any) -> tuple[list[Flavor], list[str]]:
    """Return the flavors of nova that are for nodes, and sentences about the others."""
    if names is not True and not (isinstance(names, list) and names and all(isinstance(each, str) for each in names)):
        raise failures.InvalidInput(reason="'nova_flavors' must be true, for all flavors, or a list of names.")
    flavors, left_out = [], []
    for each in nova.flavors(context, None if names is True else names):
        try:
            request = requests.understand(flavor=each)
            if not request.resource_class:
                raise failures.InvalidInput(reason='it requests no CUSTOM_ resource class.')
            flavors.append(Flavor(each['name'], NodeRequest(grant, request).without_exclusive(context.service)))
        except (failures.InvalidInput, failures.InvalidTrait, failures.ConflictingTraits) as error:
            left_out.append(f'Flavor {each["name"]} of nova is not for nodes, and is left out: {error}')
    _check_count('nova_flavors', flavors, MAX_FLAVORS)
    return flavors, left_out


def warnings(context: Context, flavors: Sequence[Flavor]) -> list[str]:
    """Return the warnings about flavors, each once."""
    names = frozenset().union(*(flavor.node_request.request.names for flavor in flavors))
    sentences = [
        f'Flavor {flavor.name}: {sentence}' for flavor in flavors for sentence in flavor.node_request.request.warnings
    ]
    return list(dict.fromkeys([*sentences, *trait_catalogue.warnings(context, names)]))


def _flavor(context: Context, grant: Grant, number: int, document: dict[str, Any]) -> Flavor:
    where = f"'flavors', number {number}"
    typed = _typed(FlavorBody, document, where)
    name = stated_fields(typed).get('name')
    if not name:
        raise failures.InvalidInput(reason=f"{where} needs a 'name'.")
    count = stated_fields(typed).get('count') or 1
    return Flavor(name, match_types.read_request(context, grant, _as_request(typed)), count)


def _as_request(typed: Any) -> Any:
    """Return the body of a flavor as a request: ``extra_specs`` beside the name are those of the flavor."""
    extra_specs = stated_fields(typed).get('extra_specs')
    if extra_specs is not None:
        if stated_fields(typed).get('flavor') is not None:
            raise failures.InvalidInput(reason="'extra_specs' and 'flavor' cannot be combined.")
        typed.flavor = {'extra_specs': extra_specs}
    if nova.is_name(stated_fields(typed).get('flavor')):
        # Each of them would be read on its own.
        raise failures.InvalidInput(reason="Name flavors of nova in 'nova_flavors'.")
    return typed


def _what_if(context: Context, fields: dict[str, Any]) -> WhatIf:
    idents = node_selection.names(fields, 'without')
    changes = node_selection.names(fields, 'with')
    _check_count('without', idents, MAX_NODES)
    _check_count('with', changes, MAX_CHANGES)
    without = dict.fromkeys(node_ident.ident(context, ident) for ident in idents)
    return WhatIf(tuple(without), [_change(context, number, change) for number, change in enumerate(changes)])


def _change(context: Context, number: int, document: dict[str, Any]) -> TraitChange:
    where = f"'with', number {number}"
    fields = given_fields(_typed(ChangeBody, document, where))
    if ('node' in fields) == ('where' in fields):
        raise failures.InvalidInput(reason=f"{where} needs either 'node' (a uuid or a name) or 'where' (filters).")
    selected = {'nodes': [fields['node']]} if 'node' in fields else {'where': fields['where']}
    add, remove = (frozenset(node_selection.names(fields, key)) for key in ('add', 'remove'))
    if not add | remove or add & remove:
        raise failures.InvalidInput(reason=f"{where} needs traits to 'add' or to 'remove', and each of them once.")
    if len(add | remove) > MAX_NAMES:
        raise failures.InvalidInput(reason=f'{where} names more than {MAX_NAMES} traits.')
    return TraitChange(node_selection.parse(context, selected), add, remove)


def _typed(datatype: type[types.Base], document: dict[str, Any], where: str) -> Any:
    names = {attribute.name for attribute in datatype._wsme_attributes}
    if unknown := document.keys() - names:
        raise failures.UnknownKeys(unknown, names, f'{where} has unknown keys')
    return bodies.typed(datatype, document)


def _vetoes(vetoed: Sequence[dict[str, int]]) -> Iterator[str]:
    """Generate sentences about the vetoes of traits that nodes get in the what-if."""
    for number, traits in enumerate(vetoed):
        for name, nodes in traits.items():
            yield (
                f"'with', number {number}: {name} is vetoed on {printing.count(nodes)}. A plain edit "
                'adds it and lifts the veto. Rules, imports and other sources do not add it.'
            )


def _by(fields: dict[str, Any]) -> tuple[str, ...]:
    by = tuple(dict.fromkeys(node_selection.names(fields, 'by')))
    _check_count('by', by, MAX_BY)
    for each in by:
        if each not in capacity.COLUMNS and not each.startswith(TRAIT_PREFIX):
            allowed = f'{", ".join(capacity.COLUMNS)} and {TRAIT_PREFIX}PREFIX'
            raise failures.InvalidInput(reason=f"'by' may have {allowed}, not {each!r:.100}.")
    return by


def _check_count(key: str, values: Sized, most: int) -> None:
    if len(values) > most:
        raise failures.InvalidInput(reason=f"'{key}' has {len(values)} items. At most {most} are allowed.")


def _show(counted: capacity.Capacity) -> dict[str, Any]:
    document = {'name': counted.name} | _figures(counted)
    if counted.blocks:
        document |= {'blocks': counted.blocks.number, 'largest_block': counted.blocks.largest}
    if counted.groups:
        document['by'] = {
            by: [{'value': group.value} | _figures(group) for group in groups] for by, groups in counted.groups.items()
        }
    return document


def _figures(counted: capacity.Capacity | capacity.Group) -> dict[str, Any]:
    """Return figures, with the differences that the what-if makes."""
    document = dataclasses.asdict(counted.now)
    if counted.then:
        document['difference'] = dataclasses.asdict(counted.then.minus(counted.now))
    return document
