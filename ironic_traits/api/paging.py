"""Query parameters of pages, and links to the next page."""

import urllib.parse
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ironic_traits import failures, spelling
from ironic_traits.api import types
from ironic_traits.context import Context
from ironic_traits.inventory.core.paging import Page

#: The query parameters of every list.
QUERY = {
    'limit': types.Limit(),
    'marker': types.UUID,
    'sort_key': types.TEXT,
    'sort_dir': types.SortDirection(),
}


def page(
    context: Context, query: Mapping[str, Any], sortable: Collection[str], check: Callable[[Context, str], None]
) -> Page:
    """Return the page that a request asks for.

    :param sortable: names of the columns that lists can be sorted by.
    :param check: function of the context and a field name that raises if the field needs a later version.
    :raises failures.InvalidInput: lists cannot be sorted by this key.
    """
    sort_key = query.get('sort_key') or 'id'
    check(context, sort_key)
    if sort_key not in sortable:
        hint = spelling.hint(sort_key, sortable)
        raise failures.InvalidInput(reason=f'The sort_key value "{sort_key}" is an invalid field for sorting.{hint}')
    max_limit = context.conf.api.max_limit
    return Page(
        limit=min(query.get('limit', max_limit), max_limit),
        marker=query.get('marker'),
        sort_key=sort_key,
        descending=query.get('sort_dir') == 'desc',
    )


def document(
    context: Context,
    page: Page,
    found: tuple[Sequence[Any], bool],
    key: str,
    show: Callable[[Any], Any],
    marker: str = 'uuid',
) -> dict[str, Any]:
    """Return a page as clients get it: its items, and the link to the next page.

    :param found: its rows, and whether there are more.
    :param key: the key of the items.
    :param show: function of a row that returns the item.
    :param marker: the attribute of a row by which the next page finds its place.
    """
    rows, more = found
    items: dict[str, Any] = {key: [show(row) for row in rows]}
    return items | {'next': next_link(context, page, getattr(rows[-1], marker))} if more else items


def next_link(context: Context, page: Page, marker: str) -> str:
    """Return the URL of the next page: the URL of the request, with another marker.

    :param marker: uuid of the last item of this page.
    """
    request = context.request
    arguments = [(name, value) for name, value in request.GET.items() if name not in ('limit', 'marker')]
    arguments += [('limit', page.limit), ('marker', marker)]
    return context.url(f'{request.path_info}?{urllib.parse.urlencode(arguments, safe=",")}')
