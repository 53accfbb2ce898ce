"""/v1/traits: the catalogue of traits."""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import stated_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import capacity
from ironic_traits.api.v1.drift import ChangedFlavor
from ironic_traits.api.v1.trait_edits import TraitEditsController
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core.paging import Page
from ironic_traits.inventory.search import drift
from ironic_traits.inventory.traits import trait_catalogue
from ironic_traits.inventory.traits.trait_catalogue import CatalogueFilter
from ironic_traits.matching import traits as trait_names
from ironic_traits.resources.additions import ADDED

_TRAIT = types.Trait()
_NAMES = types.TraitNames()
#: Maximum number of names in one parameter. Databases limit the number of values in a statement; SQLite has the lowest
#: limit.
_MAX_NAMES = 1000
_FLAGS = ('custom', 'retired', 'exclusive', 'in_use')
#: Notes that are true or false.
_SWITCHES = ('retired', 'exclusive')
_EXCLUSIVE_RULE = 'baremetal:trait:update:exclusive'


class TraitBody(types.Base):
    """Changes of a trait in the catalogue."""

    description = types.Text(minimum=1, maximum=4096)
    retired = types.BOOLEAN
    replaced_by = _TRAIT
    exclusive = types.BOOLEAN


class PatchBody(TraitBody):
    """Changes of a trait in the catalogue. Only a preview has flavors."""

    flavors = [types.OBJECT]
    nova_flavors = types.Any()


class Trait(types.Base):
    """A trait in the catalogue."""

    name = str
    description = str
    custom = bool
    nodes = int
    sources = types.OBJECT
    retired = bool
    replaced_by = str
    exclusive = bool


class ChangedTrait(Trait):
    """A trait in the catalogue. A preview has the flavors that would match other nodes."""

    flavors = [ChangedFlavor]
    warnings = [str]


class Traits(types.Base):
    """A page of traits. The last page has no ``next``."""

    traits = [Trait]
    next = str


class TraitsController(Resource):
    """The names of traits: what they mean, how many nodes have them, and which are retired."""

    since = ADDED
    children = {'edits': TraitEditsController()}

    @expose(
        'baremetal:trait:get',
        Traits,
        since=ADDED,
        query={
            'limit': types.Limit(),
            'marker': types.TEXT,
            'name': types.TEXT,
            'all': types.BOOLEAN,
            **dict.fromkeys(_FLAGS, types.BOOLEAN),
        },
    )
    def get_all(self, context: Context, grant: Grant, /, **query: Any) -> dict[str, Any]:
        max_limit = context.conf.api.max_limit
        page = Page(limit=min(query.get('limit', max_limit), max_limit), marker=_marker(query.get('marker')))
        found = trait_catalogue.find(context, grant, _filter(query), page)
        return paging.document(context, page, found, 'traits', lambda each: each._asdict(), marker='name')

    @expose('baremetal:trait:get', Trait, since=ADDED)
    def get_one(self, context: Context, grant: Grant, trait: str, /) -> dict[str, Any]:
        return trait_catalogue.get(context, grant, trait)._asdict()

    @expose('baremetal:trait:update', Trait, since=ADDED, body=TraitBody)
    def put(self, context: Context, grant: Grant, trait: str, /, *, body: Any) -> dict[str, Any]:
        return trait_catalogue.update(context, grant, *_changes(context, trait, stated_fields(body)))._asdict()

    @expose('baremetal:trait:update', ChangedTrait, since=ADDED, body=PatchBody, query={'preview': types.BOOLEAN})
    def patch(
        self, context: Context, grant: Grant, trait: str, /, *, body: Any, preview: bool = False
    ) -> dict[str, Any]:
        fields = stated_fields(body)
        given = {key: fields.pop(key) for key in ('flavors', 'nova_flavors') if key in fields}
        of_flavors: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        name, changes = _changes(context, trait, fields)
        if not preview:
            if of_flavors:
                raise failures.InvalidInput(reason=f'Only a preview has {" and ".join(of_flavors)}.')
            return trait_catalogue.update(context, grant, name, changes)._asdict()
        if changes.keys() != {'exclusive'}:
            raise failures.InvalidInput(reason="A preview is of 'exclusive', and of no other change.")
        flavors, warnings = capacity.read_flavors(context, grant, of_flavors)
        exclusive = context.service.noted_traits.exclusive(context)
        then = exclusive.union([name]) if changes['exclusive'] else exclusive.difference([name])
        return {
            **trait_catalogue.preview(context, grant, name, changes['exclusive'])._asdict(),
            'flavors': drift.changed_flavors(context, grant, flavors, then),
            'warnings': warnings,
        }


def _changes(context: Context, trait: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a trait, and its changes.

    :raises failures.InvalidInput: there are none, or the name is not a trait.
    :raises failures.Forbidden: the caller may not change ``exclusive``.
    """
    name = _TRAIT.validate(trait)
    if not fields:
        names = (f"'{attribute.name}'" for attribute in wsme.types.list_attributes(TraitBody))
        raise failures.InvalidInput(reason=f'The body needs at least one of {", ".join(names)}.')
    if 'exclusive' in fields and not context.may(_EXCLUSIVE_RULE):
        raise context.forbidden(_EXCLUSIVE_RULE)
    return name, {key: bool(value) if key in _SWITCHES else value for key, value in fields.items()}


def _marker(name: str | None) -> str | None:
    if name is not None and not trait_names.is_well_formed(name):
        raise failures.InvalidInput(reason=f"The marker '{name}' is not the name of a trait.")
    return name


def _filter(query: dict[str, Any]) -> CatalogueFilter:
    """Return the filter for query parameters."""
    flags = {name: query[name] for name in _FLAGS if name in query}
    # Most of the standard traits are on no node: they are listed on request only.
    noted_or_in_use = not (query.get('all') or 'in_use' in query)
    return trait_catalogue.CatalogueFilter(**_name_filter(query.get('name')), **flags, noted_or_in_use=noted_or_in_use)


def _name_filter(text: str | None) -> dict[str, Any]:
    """Parse the query parameter ``name``."""
    if text is None:
        return {}
    operator, _, value = text.partition(':')
    if operator == 'in' and value.count(',') < _MAX_NAMES:
        return {'names': _names(value)}
    if operator == 'startswith' and trait_names.is_well_formed(value):
        return {'prefix': value}
    raise failures.InvalidInput(
        reason=f"Invalid name: '{text}'. It must be 'in:' with at most {_MAX_NAMES} traits, or 'startswith:' with the "
        'beginning of a trait.'
    )


def _names(value: str) -> frozenset[str]:
    try:
        return _NAMES.validate(value)
    except ValueError as error:
        raise failures.InvalidInput(reason=f'Invalid name: {error}') from error
