"""What caches between a client and the service may keep: never the answer to one user for another."""

import functools

from ironic_traits.api.protocol import Protocol

#: The headers of a request that say who asks.
_IDENTITY = 'X-Auth-Token, Authorization'


@functools.cache
def headers(protocol: Protocol, is_public: bool) -> list[tuple[str, str]]:
    """Return the headers about caches of a response, which the caller does not change.

    :param is_public: whether the path needs no authentication: everybody gets the same answer.
    """
    name, value = protocol.vary
    return [protocol.vary] if is_public else [(name, f'{value}, {_IDENTITY}'), *protocol.cached]


def joined(own: list[tuple[str, str]], common: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers of a response.

    The Cache-Control of the route counts. There is one Vary, because the CORS middleware keeps only one.

    :param own: the headers of the route.
    :param common: the headers of each response.
    """
    values = {name.lower(): value for name, value in own}
    if 'vary' not in values and 'cache-control' not in values:
        return own + common
    merged = [pair for pair in own if pair[0].lower() != 'vary']
    for name, value in common:
        if name.lower() == 'vary' and 'vary' in values:
            merged.append((name, f'{values["vary"]}, {value}'))
        elif name.lower() != 'cache-control' or 'cache-control' not in values:
            merged.append((name, value))
    return merged
