"""Pages, as requests ask for them and answers link to them."""

import urllib.parse

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.inventory.paging import Page

#: The query arguments of every list.
QUERY = {
    'limit': types.Limit(),
    'marker': types.UUID,
    'sort_key': types.TEXT,
    'sort_dir': types.SortDirection(),
}


def page(context, query, sortable, check):
    """Give the page that a request asks for.

    :param query: the request's arguments.
    :param sortable: names of the columns that can be sorted by.
    :param check: function of context and name that raises when a field came with a later version.
    :returns: ironic_traits.inventory.paging.Page.
    :raises failures.InvalidInput: there is no such key to sort by.
    """
    sort_key = query.get('sort_key') or 'id'
    check(context, sort_key)
    if sort_key not in sortable:
        raise failures.InvalidInput(reason=f'The sort_key value "{sort_key}" is an invalid field for sorting')
    most = context.conf.api.max_limit
    return Page(
        limit=min(query.get('limit', most), most),
        marker=query.get('marker'),
        sort_key=sort_key,
        descending=query.get('sort_dir') == 'desc',
    )


def next_link(context, request, page, marker):
    """Give the address of the next page: everything that was asked for, and where to go on.

    :param request: the request for this page.
    :param marker: uuid of the last item of this page.
    """
    arguments = [(name, value) for name, value in request.GET.items() if name not in ('limit', 'marker')]
    arguments += [('limit', page.limit), ('marker', marker)]
    return context.url(f'{request.path_info}?{urllib.parse.urlencode(arguments, safe=",")}')
