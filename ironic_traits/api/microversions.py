"""The versions of the Bare Metal API, their negotiation, and what each of them does here.

Each version up to MAXIMUM is true for the resources that are served; ports, portgroups, chassis, volume, and whatever
/v1 does not list, are not served and stay 404.

=====  ==================================================================================================
1.1    nodes: create, list, show, change, delete; maintenance; drivers
1.2    the state of a node that nobody uses is "available" (before: null)
1.3    driver_internal_info
1.4    the state "manageable" (no change here: states do not move yet)
1.5    names, wherever a uuid stands
1.6    inspection_started_at, inspection_finished_at
1.7    clean_step
1.8    ``fields``
1.9    the filter ``provision_state``
1.10   names of all unreserved characters of RFC 3986 (before: host names)
1.11   a new node begins in "enroll" (before: "available")
1.12   raid_config, target_raid_config
1.13   the verb abort (verbs are not served yet)
1.14   links to a node's states
1.15   manual cleaning (verbs are not served yet)
1.16   the filter ``driver``
1.17   the verb adopt (verbs are not served yet)
1.18   internal_info of ports (not served)
1.19   local_link_connection of ports (not served)
1.20   network_interface
1.21   resource_class, and the filter
1.22   lookup and heartbeat (not served)
1.23   portgroups (not served)
1.24   links to a node's portgroups
1.25   chassis_uuid can be removed
1.26   mode and properties of portgroups (not served)
1.27   soft power verbs (not served yet)
1.28   vifs (not served yet)
1.29   injecting an NMI (not served)
1.30   the kinds of drivers: ``type`` and ``detail`` of /v1/drivers
1.31   boot, console, deploy, inspect, management, power, raid and vendor interface
1.32   links to a node's volume resources
1.33   storage_interface
1.34   physical_network of ports (not served)
1.35   a config drive with rebuild (verbs are not served yet)
1.36   agent_version in heartbeats (not served)
1.37   traits of nodes, and the four list filters of the specification
=====  ==================================================================================================
"""

import re

import microversion_parse

from ironic_traits import failures

MAJOR = 1
MINIMUM = 1
MAXIMUM = 37

SERVICE_TYPE = 'baremetal'
HEADER = 'X-OpenStack-Ironic-API-Version'
_VERSION = re.compile(r'([0-9]{1,9})\.([0-9]{1,9})')


def text(minor):
    """Write a version as clients read it."""
    return f'{MAJOR}.{minor}'


def negotiate(headers):
    """Choose the version of a request.

    :param headers: the request's headers, {name: value}, names in lower case.
    :returns: the minor version.
    :raises failures.VersionNotSupported: it is no version, or outside the range.
    """
    asked = microversion_parse.get_version(headers, SERVICE_TYPE, legacy_headers=[HEADER])
    if not asked:
        return MINIMUM
    if asked == 'latest':
        return MAXIMUM
    match = _VERSION.fullmatch(asked)
    if not match:
        raise failures.VersionNotSupported(reason=f'Invalid value for {HEADER} header')
    major, minor = map(int, match.groups())
    supported = f'The supported version range is: [{text(MINIMUM)}, {text(MAXIMUM)}].'
    if major != MAJOR:
        raise failures.VersionNotSupported(
            reason=f'Mutually exclusive versions requested. Version {asked} requested but not supported by this '
            f'service. {supported}'
        )
    if not MINIMUM <= minor <= MAXIMUM:
        raise failures.VersionNotSupported(
            reason=f'Version {asked} was requested but the minor version is not supported by this service. {supported}'
        )
    return minor


def headers(minor):
    """Give the headers that every answer carries: [(name, value), …]."""
    return [
        ('X-OpenStack-Ironic-API-Minimum-Version', text(MINIMUM)),
        ('X-OpenStack-Ironic-API-Maximum-Version', text(MAXIMUM)),
        (HEADER, text(minor)),
        ('Vary', f'OpenStack-API-Version, {HEADER}'),
    ]
