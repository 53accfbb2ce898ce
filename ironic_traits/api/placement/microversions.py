"""The versions of the Placement API, their negotiation, and what each of them changes.

=====  ============================================================================
1.0    resource providers, their inventories and usages
1.1    aggregates of providers
1.2    resource classes
1.3    the filter ``member_of``
1.4    the filter ``resources``
1.5    deleting all inventories of a provider
1.6    traits, and those of providers
1.7    PUT of a resource class creates it, without a body (before: renames it)
1.8    ``project_id`` and ``user_id`` of allocations
1.9    usages of projects
1.10   allocation candidates
1.11   resource providers link to their allocations
1.12   allocations as objects by provider; owners shown with them
1.13   POST of the allocations of several consumers
1.14   parent_provider_uuid, root_provider_uuid, and the filter ``in_tree``
1.15   Last-Modified and Cache-Control
1.16   ``limit`` of candidates
1.17   ``required`` of candidates, and traits in their summaries
1.18   the filter ``required``
1.19   generations of aggregates
1.20   POST of a provider returns it
1.21   ``member_of`` of candidates
1.22   forbidden traits: ``required=!B``
1.23   codes in errors
1.24   ``member_of`` repeated
1.25   candidates for several groups: numbers as suffixes, and ``group_policy``
1.26   all of an inventory can be reserved
1.27   summaries of candidates show all resource classes
1.28   generations of consumers; PUT of empty allocations
1.29   candidates with several providers of a tree; trees in their summaries
1.30   the reshaper
1.31   ``in_tree`` of candidates
1.32   forbidden aggregates: ``member_of=!A``
1.33   suffixes other than numbers
1.34   ``mappings`` of candidates, which allocations accept
1.35   ``root_required`` of candidates
1.36   ``same_subtree`` of candidates, and groups without resources
1.37   moving a provider that has a parent
1.38   types of consumers, with allocations and in usages of projects
1.39   one of several traits: ``required=in:A,B``, and ``required`` repeated
=====  ============================================================================
"""

import functools

import microversion_parse

from ironic_traits.placement import failures

MINIMUM = 0
MAXIMUM = 39

SERVICE_TYPE = 'placement'
HEADER = 'OpenStack-API-Version'
_VERSIONS = [f'1.{minor}' for minor in range(MINIMUM, MAXIMUM + 1)]


def text(minor: int) -> str:
    """Return a version as text: 1.39."""
    return f'1.{minor}'


def negotiate(headers: dict[str, str]) -> int:
    """Return the version of a request.

    :param headers: the headers of the request, {name: value}, names in lower case.
    :raises failures.VersionNotSupported: the requested version is not supported.
    :raises failures.BadRequest: the requested version is malformed.
    """
    try:
        return microversion_parse.extract_version(headers, SERVICE_TYPE, _VERSIONS).minor
    except TypeError as error:
        raise failures.BadRequest(reason=f'Invalid microversion: {error}') from error
    except ValueError as error:
        raise failures.VersionNotSupported(str(error), text(MINIMUM), text(MAXIMUM)) from error


@functools.cache
def headers(minor: int) -> list[tuple[str, str]]:
    """Return the version headers of a response: [(name, value), …], which the caller does not change."""
    return [(HEADER.lower(), f'{SERVICE_TYPE} {text(minor)}')]
