"""/v1/traits/edits: one edit of the traits of many nodes."""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import given_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import node_selection
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.core.paging import Page
from ironic_traits.inventory.traits import trait_edits
from ironic_traits.inventory.traits.node_traits import NodeEdit
from ironic_traits.inventory.traits.trait_edits import EditEffects, EditPreview
from ironic_traits.matching.trait_edits import BulkEdit
from ironic_traits.matching.traits import MAX_NAMES
from ironic_traits.resources.additions import ADDED

_TRAIT = types.Trait()
_PAGE = {'limit': types.Limit(), 'marker': types.UUID}


class EditBody(types.Base):
    """An edit of the traits of nodes, the nodes, and whether to preview or to execute it."""

    add = [types.Trait()]
    remove = [types.TEXT]
    rename = types.OBJECT
    source = types.WritableSource()
    where = types.OBJECT
    nodes = [types.TEXT]
    preview = types.BOOLEAN
    digest = types.TEXT


class EditedNode(types.Base):
    """A node in a preview, and what the edit changes on it."""

    uuid = types.UUID
    name = str
    gains = [str]
    loses = [str]
    vetoed = [str]


class ExceedingNode(types.Base):
    """A node that would have too many traits."""

    uuid = types.UUID
    name = str
    traits = int


class LockedNode(types.Base):
    """A node that a worker has locked."""

    uuid = types.UUID
    name = str


class TraitEdit(types.Base):
    """What an edit would change, or has changed. Only a preview has a digest and nodes."""

    digest = str
    matched = int
    changed = int
    gains = {str: int}
    loses = {str: int}
    vetoed = {str: int}
    retired = [str]
    exceeding = int
    exceeding_nodes = [ExceedingNode]
    locked = int
    locked_nodes = [LockedNode]
    nodes = [EditedNode]
    next = str


class TraitEditsController(Resource):
    """Edits of the traits of many nodes."""

    since = ADDED

    @expose(trait_edits.RULE, TraitEdit, since=ADDED, query=_PAGE, body=EditBody)
    def post(self, context: Context, grant: Grant, /, *, body: Any, **query: Any) -> dict[str, Any]:
        fields = given_fields(body)
        edit, selection = _edit(fields), node_selection.parse(context, fields)
        node_selection.check_step(fields)
        if 'digest' in fields:
            _check_unpaged(query)
            return _totals(trait_edits.execute(context, grant, edit, selection, fields['digest']))
        page = paging.page(context, query, ('id',), lambda context, name: None)
        return _preview(context, trait_edits.preview(context, grant, edit, selection, page), page)


def _preview(context: Context, preview: EditPreview, page: Page) -> dict[str, Any]:
    effects = preview.effects
    document = {
        'digest': effects.digest,
        **_totals(effects),
        'exceeding': effects.exceeding,
        'exceeding_nodes': [_node(each) | {'traits': len(each.edit.after.holders)} for each in effects.exceeding_nodes],
        'locked': effects.locked,
        'locked_nodes': [_node(each) for each in effects.locked_nodes],
        'nodes': [_edited(each) for each in preview.nodes],
    }
    if preview.has_more:
        document['next'] = paging.next_link(context, page, preview.nodes[-1].node.uuid)
    return document


def _totals(effects: EditEffects) -> dict[str, Any]:
    return {
        'matched': effects.matched,
        'changed': effects.changed,
        **{name: dict(sorted(getattr(effects, name).items())) for name in ('gains', 'loses', 'vetoed')},
        'retired': sorted(effects.retired),
    }


def _node(each: NodeEdit) -> dict[str, Any]:
    return {'uuid': each.node.uuid, 'name': each.node.name}


def _edited(each: NodeEdit) -> dict[str, Any]:
    parts = {'gains': each.edit.added, 'loses': each.edit.removed, 'vetoed': each.edit.refused}
    return _node(each) | {name: sorted(traits) for name, traits in parts.items()}


def _edit(fields: dict[str, Any]) -> BulkEdit:
    """Return the edit in the fields of a body.

    :raises failures.Failure: it is invalid, or contradicts itself.
    """
    edit = BulkEdit(
        frozenset(node_selection.names(fields, 'add')),
        frozenset(node_selection.names(fields, 'remove')),
        {name: _TRAIT.validate(_string('rename', new)) for name, new in fields.get('rename', {}).items()},
        fields.get('source'),
    )
    if not (edit.add or edit.remove or edit.rename):
        raise failures.InvalidInput(reason="The request needs traits to 'add', to 'remove' or to 'rename'.")
    if edit.rename and edit.source is not None:
        raise failures.InvalidInput(
            reason="'rename' cannot be combined with 'source': a renamed trait keeps its sources."
        )
    if sum(map(len, (edit.add, edit.remove, edit.rename))) > MAX_NAMES:
        raise failures.InvalidInput(reason=f'The edit names more than {MAX_NAMES} traits.')
    same = edit.contradictions or [name for name, new in edit.rename.items() if name == new]
    if same:
        raise failures.InvalidInput(
            reason=f"'{same[0]}' can be named only once: by 'add', by 'remove', or by 'rename' with another new name."
        )
    return edit


def _string(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise failures.InvalidInput(reason=f"'{key}' must have strings: {{trait: new name, …}}.")
    return value


def _check_unpaged(query: dict[str, Any]) -> None:
    if query:
        raise failures.InvalidInput(reason=f'Only a preview has pages: {", ".join(sorted(query))} with a digest.')
