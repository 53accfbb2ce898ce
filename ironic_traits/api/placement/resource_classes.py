"""/placement/resource_classes"""

from typing import Any

import sqlalchemy as sa

from ironic_traits.api.placement.expose import expose, modified
from ironic_traits.api.placement.schemas import CUSTOM_NAME, LINKS, TEXT, array, document, response, returning
from ironic_traits.api.placement.validation import validate
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import failures, resource_classes

#: The minor versions that brought resource classes, and a PUT that creates them.
SINCE = 2
PUT_CREATES_SINCE = 7

_NAME = {'type': 'string', 'pattern': CUSTOM_NAME, 'maxLength': 255}
_BODY = document({'name': _NAME}, ['name'])

_CLASS = response({'name': TEXT, 'links': LINKS})


class ResourceClassesController(Resource):
    """The standard and custom resource classes."""

    since = SINCE

    @expose(
        'placement:resource_classes:list',
        since=SINCE,
        returns=returning({SINCE: response({'resource_classes': array(_CLASS)})}),
    )
    def get_all(self, context: Context, /) -> Response:
        rows = resource_classes.find(context)
        return Response({'resource_classes': [_show(context, row) for row in rows]}, modified=modified(rows))

    @expose('placement:resource_classes:show', since=SINCE, returns=returning({SINCE: _CLASS}))
    def get_one(self, context: Context, name: str, /) -> Response:
        row = resource_classes.get(context, name)
        return Response(_show(context, row), modified=modified([row]))

    @expose('placement:resource_classes:create', since=SINCE, body={SINCE: _BODY}, returns={SINCE: {201: None}})
    def post(self, context: Context, /, *, body: dict[str, Any]) -> Response:
        name = body['name']
        if not resource_classes.create(context, name):
            raise failures.Conflict(reason=f'Conflicting resource class already exists: {name}')
        return Response(status=201, location=f'/resource_classes/{name}')

    @expose(
        'placement:resource_classes:update',
        since=SINCE,
        body={SINCE: _BODY, PUT_CREATES_SINCE: None},
        returns={SINCE: {200: _CLASS}, PUT_CREATES_SINCE: {201: None, 204: None}},
    )
    def put(self, context: Context, name: str, /, *, body: dict[str, Any]) -> Response:
        if body:
            return Response(_show(context, resource_classes.rename(context, name, body['name'])))
        validate({'name': name}, _BODY)
        is_new = resource_classes.create(context, name)
        return Response(status=201 if is_new else 204, location=f'/resource_classes/{name}')

    @expose('placement:resource_classes:delete', since=SINCE)
    def delete(self, context: Context, name: str, /) -> None:
        resource_classes.delete(context, name)


def _show(context: Context, row: sa.Row) -> dict[str, Any]:
    return {
        'name': row.name,
        'links': [{'rel': 'self', 'href': context.path(f'/resource_classes/{row.name}')}],
    }
