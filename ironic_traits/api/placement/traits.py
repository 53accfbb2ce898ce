"""/placement/traits"""

import re
from typing import Any

from webob.multidict import MultiDict

from ironic_traits.api.placement.expose import expose, modified, now
from ironic_traits.api.placement.schemas import CUSTOM_NAME, TEXT, array, document, response, returning
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.matching.traits import MAX_LENGTH
from ironic_traits.placement import failures, traits

#: The minor version that brought traits.
SINCE = 6
#: Maximum number of names in one parameter. Databases limit the number of values in a statement; SQLite has the lowest
#: limit.
_MAX_NAMES = 1000


class TraitsController(Resource):
    """The standard and custom traits."""

    since = SINCE

    @expose(
        'placement:traits:list',
        since=SINCE,
        query={SINCE: document({'name': TEXT, 'associated': TEXT})},
        returns=returning({SINCE: response({'traits': array(TEXT)})}),
    )
    def get_all(self, context: Context, /, *, query: MultiDict) -> Response:
        name, associated = _name_filter(query.get('name')), _associated(query.get('associated'))
        names, moment = traits.find(context, **name, associated=associated)
        return Response({'traits': names}, modified=moment or now())

    @expose('placement:traits:show', since=SINCE)
    def get_one(self, context: Context, name: str, /) -> Response:
        return Response(status=204, modified=modified([traits.get(context, name)]))

    @expose('placement:traits:update', since=SINCE, returns={SINCE: {201: None, 204: None}})
    def put(self, context: Context, name: str, /) -> Response:
        if len(name) > MAX_LENGTH or not re.fullmatch(CUSTOM_NAME, name):
            raise failures.BadRequest(
                reason='The trait is invalid. A valid trait must be no longer than 255 characters, start with the '
                'prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
            )
        row, is_new = traits.create(context, name)
        return Response(status=201 if is_new else 204, location=f'/traits/{name}', modified=modified([row]))

    @expose('placement:traits:delete', since=SINCE)
    def delete(self, context: Context, name: str, /) -> None:
        traits.delete(context, name)


def _name_filter(text: str | None) -> dict[str, Any]:
    """Parse the query parameter ``name`` into arguments for ``placement.traits.find``."""
    if text is None:
        return {}
    operator, colon, value = text.partition(':')
    if colon and operator == 'in':
        names = value.split(',')
        if len(names) > _MAX_NAMES:
            raise failures.BadRequest(reason=f'{len(names)} names are too many: at most {_MAX_NAMES} are allowed.')
        return {'name_in': names}
    # The specification has "starts_with", Placement has "startswith".
    if colon and operator in ('starts_with', 'startswith'):
        return {'prefix': value}
    raise failures.BadRequest(
        reason='Badly formatted name parameter. Expected name query string parameter in form: '
        f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{text}"'
    )


def _associated(text: str | None) -> bool | None:
    if text is None:
        return None
    if text.lower() not in ('true', 'false'):
        raise failures.BadRequest(reason='The query parameter "associated" only accepts "true" or "false"')
    return text.lower() == 'true'
