"""Flavors of nova, with the extra specs that request traits and a resource class.

They are not cached: extra specs may change at any time.
"""

import logging
import reprlib
from collections.abc import Sequence
from typing import Any, TypedDict

from keystoneauth1 import adapter, loading, noauth, token_endpoint
from keystoneauth1.exceptions import ClientException

from ironic_traits import failures
from ironic_traits.context import Context

LOG = logging.getLogger(__name__)

#: The first version of nova's API in which lists of flavors have their extra specs.
_VERSION = '2.61'
#: Number of flavors in one page. Number of flavors after which no further page is read.
_PAGE, MAX_FLAVORS = 1000, 10_000


class Flavor(TypedDict):
    """What is read of a flavor."""

    name: str
    extra_specs: dict[str, Any]


def flavors(context: Context, names: Sequence[str] | None = None) -> list[Flavor]:
    """Return flavors of nova, as the caller may see them.

    :param names: names or ids of the flavors; None for all, but at most MAX_FLAVORS.
    :returns: the flavors, sorted by name.
    :raises failures.InvalidInput: nova has no such flavor, or [nova] endpoint_override is not set.
    :raises failures.NovaUnavailable: nova does not respond, or its response is not a list of flavors.
    """
    if not context.conf.nova.endpoint_override:
        raise failures.InvalidInput(
            reason='Flavors cannot be read from nova, because [nova] endpoint_override is not set. Send their '
            "'extra_specs' instead."
        )
    try:
        every = _read(_client(context))
    except (ClientException, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # ClientException: no response, or an error. The others: the JSON of the response is not a list of flavors.
        LOG.warning('The flavors could not be read from nova: %s: %s', type(error).__name__, error)
        raise failures.NovaUnavailable from error
    if names is None:
        return sorted(every.values(), key=lambda flavor: flavor['name'])
    by_name = {flavor['name']: flavor for flavor in every.values()}
    unknown = [name for name in names if name not in by_name and name not in every]
    if unknown:
        raise failures.InvalidInput(reason=f'nova has no flavor {unknown[0]:.255}, or you may not see it.')
    return [by_name.get(name) or every[name] for name in dict.fromkeys(names)]


def is_name(value: Any) -> bool:
    """Whether a flavor that a client sent has only a name, which ``flavor`` reads from nova."""
    return isinstance(value, dict) and value.keys() == {'name'}


def flavor(context: Context, value: Any) -> Any:
    """Return a flavor with its extra specs, which are read from nova when the request has only a name.

    :param value: {'name': name or id}, {'extra_specs': {…}}, or any other JSON value that a client sent.
    :returns: {'name': …, 'extra_specs': {…}} for a name without anything else; any other value unchanged.
    :raises failures.Failure: as ``flavors``.
    """
    if not is_name(value):
        return value
    if not isinstance(value['name'], str):
        raise failures.InvalidInput(reason=f"'name' of the flavor must be a string, not {reprlib.repr(value['name'])}.")
    return flavors(context, [value['name']])[0]


def _read(client: adapter.Adapter) -> dict[str, Flavor]:
    """Return {id: flavor} of all flavors, but of no further page after MAX_FLAVORS."""
    every: dict[str, Flavor] = {}
    # is_public=none: private flavors, too, for callers who may see them.
    query: dict[str, str | int] = {'is_public': 'none', 'limit': _PAGE}
    while len(every) < MAX_FLAVORS:
        page = client.get('/flavors/detail', params=query, microversion=_VERSION).json()['flavors']
        new: dict[str, Flavor] = {
            str(flavor['id']): {'name': str(flavor['name']), 'extra_specs': dict(flavor.get('extra_specs') or {})}
            for flavor in page
            if str(flavor['id']) not in every
        }
        if not new:
            break
        every |= new
        query['marker'] = list(new)[-1]
    else:
        LOG.warning('Only the first %s flavors of nova were read.', len(every))
    return every


def _client(context: Context) -> adapter.Adapter:
    """Return a client of nova with the token of the request."""
    endpoint, token = context.conf.nova.endpoint_override.rstrip('/'), context.auth_token
    auth = token_endpoint.Token(endpoint, token) if token else noauth.NoAuth(endpoint=endpoint)
    return adapter.Adapter(
        session=loading.load_session_from_conf_options(context.conf, 'nova', auth=auth),
        service_type='compute',
        endpoint_override=endpoint,
        # No retries: the client is waiting, and can retry itself.
        status_code_retries=0,
        connect_retries=0,
    )
