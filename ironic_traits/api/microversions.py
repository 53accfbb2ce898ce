"""The versions of the Bare Metal API, their negotiation, and what each of them changes.

The resources that are served support all versions up to MAXIMUM. Not served are raid below a node's states, consoles,
events, heartbeats and lookup, and vendor passthru (``v1.unserved``). BIOS settings and firmware are served as empty
lists, of simulated nodes only.

=====  ============================================================================
1.1    nodes: create, list, show, change, delete; maintenance; boot devices; drivers
1.2    the state of a node that is not in use is "available" (before: null)
1.3    driver_internal_info
1.4    the state "manageable", and the verbs manage and provide
1.5    names of nodes, instead of uuids
1.6    the verb inspect; inspection_started_at, inspection_finished_at
1.7    clean_step
1.8    ``fields``
1.9    the filter ``provision_state``
1.10   names of all unreserved characters of RFC 3986 (before: host names)
1.11   a new node begins in "enroll" (before: "available")
1.12   raid_config, target_raid_config
1.13   the verb abort
1.14   links to a node's states
1.15   the verb clean, with clean_steps
1.16   the filter ``driver``
1.17   the verb adopt
1.18   internal_info of ports
1.19   local_link_connection and pxe_enabled of ports
1.20   network_interface
1.21   resource_class, and the filter
1.22   lookup and heartbeat (not served)
1.23   portgroups
1.24   portgroup_uuid of ports; /v1/nodes/X/portgroups, /v1/portgroups/X/ports
1.25   chassis_uuid can be removed
1.26   mode and properties of portgroups
1.27   soft rebooting, soft power off, and a timeout for power
1.28   VIFs
1.29   injecting an NMI
1.30   the kinds of drivers: ``type`` and ``detail`` of /v1/drivers
1.31   boot, console, deploy, inspect, management, power, raid and vendor interface
1.32   volume connectors and targets
1.33   storage_interface
1.34   physical_network of ports
1.35   a config drive with rebuild
1.36   agent_version in heartbeats (not served)
1.37   traits of nodes, and the four list filters of the specification
1.38   rescue_interface; the verbs rescue and unrescue. Ours: reservations, reservation_uuid, matches, and
       the catalogue of traits (/v1/traits)
1.39   the state "inspect wait" (before: "inspecting")
1.40   bios_interface, bios
1.41   an inspection can be aborted while it waits
1.42   fault, and the filter
1.43   ``detail`` as a query parameter of lists
1.44   deploy_step
1.45   ``reset_interfaces`` when the driver changes
1.46   conductor_group, and the filter
1.47   automated_clean
1.48   protected, protected_reason
1.49   conductors; conductor of a node, and the filter
1.50   owner, and the filter
1.51   description, and the filter ``description_contains``
1.52   allocations, /v1/nodes/X/allocation; allocation_uuid
1.53   is_smartnic of ports
1.54   events (not served)
1.55   deploy templates
1.56   a config drive built from an object
1.57   name and extra of an allocation can be changed
1.58   an allocation of an active node (backfill)
1.59   vendor_data in a config drive
1.60   owner of an allocation, and the filter
1.61   retired, retired_reason, and the filter
1.62   agent tokens (not served)
1.63   indicators (at every version)
1.64   network_type in local_link_connection of ports
1.65   lessee, and the filter
1.66   network_data
1.67   port_uuid and portgroup_uuid when a vif is attached
1.68   agent_verify_ca in heartbeats (not served)
1.69   deploy_steps with active and rebuild
1.70   disable_ramdisk with clean
1.71   scoped roles (policy only)
1.72   agent_status in heartbeats (not served)
1.73   the verbs deploy and undeploy
1.74   the registry of BIOS settings (not served)
1.75   boot_mode, secure_boot
1.76   changing boot_mode and secure_boot
1.77   ``fields`` of drivers
1.78   history of a node
1.79   allocations prefer a node of their name (done at all versions)
1.80   projects may create and delete nodes of their own (policy only)
1.81   inventory of a node
1.82   shard, the filters ``shard`` (of ports, too) and ``sharded``, /v1/shards
1.83   parent_node, and the filter; the filter ``include_children``; /v1/nodes/X/children
1.84   continuing an inspection (at 1.1, too)
1.85   the verb unhold
1.86   firmware_interface, firmware
1.87   the verb service, with service_steps; service_step
1.88   name of ports
1.89   attaching virtual media
1.90   OVN VTEP switches in local_link_connection of ports (until 1.104)
1.91   ``.json`` at the end of a path is a part of the name
1.92   runbooks
1.93   virtual media that is attached
1.94   ``node_ident`` of a new port: the node, by its name
1.95   disable_power_off
1.96   inspection rules
1.97   description of ports, and the filter ``description_contains``
1.98   ``~0`` and ``~1`` in the paths of a PATCH (accepted at every version)
1.99   the filter ``conductor_groups`` of ports and portgroups
1.100  vendor of ports
1.101  category of ports
1.102  physical_network of portgroups
1.103  category of portgroups
1.104  instance_name, and the filter
1.105  OVN VTEP switches are refused again
1.106  the filter ``shard`` of portgroups
1.107  the header X-OpenStack-Request-ID (sent at every version)
1.108  disable_ramdisk with service
1.109  health
1.110  a deployment can be aborted while it waits
1.111  available_for_dynamic_portgroup of ports, dynamic_portgroup of portgroups
1.112  traits, descriptions and free names of runbooks
1.113  project of entries in the history of a node
1.114  vendor, model and serial number of firmware (not served)
1.115  state, target_provision_state and duration_seconds of entries in the history of a node
=====  ============================================================================
"""

import functools
import re

import microversion_parse

from ironic_traits import failures

MAJOR = 1
MINIMUM = 1
MAXIMUM = 115

SERVICE_TYPE = 'baremetal'
HEADER = 'X-OpenStack-Ironic-API-Version'
#: The name of our additions (``resources.additions``) in the header OpenStack-API-Version, and their version.
ADDITIONS, ADDITIONS_VERSION = 'ironic-traits', '1.0'
_VERSION = re.compile(r'([0-9]{1,9})\.([0-9]{1,9})')


def text(minor: int) -> str:
    """Return a version as text: 1.37."""
    return f'{MAJOR}.{minor}'


def negotiate(headers: dict[str, str]) -> int:
    """Return the version of a request.

    :param headers: the headers of the request, {name: value}, names in lower case.
    :raises failures.VersionNotSupported: the requested version is malformed, or not supported.
    """
    requested = microversion_parse.get_version(headers, SERVICE_TYPE, legacy_headers=[HEADER])
    if not requested:
        return MINIMUM
    if requested.lower() == 'latest':
        return MAXIMUM
    match = _VERSION.fullmatch(requested)
    if not match:
        raise failures.VersionNotSupported(reason=f'Invalid value for {HEADER} header')
    major, minor = map(int, match.groups())
    supported = f'The supported version range is: [{text(MINIMUM)}, {text(MAXIMUM)}].'
    if major != MAJOR:
        raise failures.VersionNotSupported(
            reason=f'Mutually exclusive versions requested. Version {requested} requested but not supported by this '
            f'service. {supported}'
        )
    if not MINIMUM <= minor <= MAXIMUM:
        raise failures.VersionNotSupported(
            reason=f'Version {requested} was requested but the minor version is not supported by this service. '
            f'{supported}'
        )
    return minor


def names_additions(headers: dict[str, str]) -> bool:
    """Whether a request names the version of our additions: OpenStack-API-Version: ironic-traits 1.0.

    :param headers: the headers of the request, {name: value}, names in lower case.
    :raises failures.VersionNotSupported: it names another version of them.
    """
    requested = microversion_parse.get_version(headers, ADDITIONS)
    if requested is not None and requested.lower() not in ('latest', ADDITIONS_VERSION):
        raise failures.VersionNotSupported(
            reason=f'Version {requested} of {ADDITIONS} was requested but is not supported by this service. The only '
            f'version is {ADDITIONS_VERSION}.'
        )
    return requested is not None


@functools.cache
def headers(minor: int, has_additions: bool) -> list[tuple[str, str]]:
    """Return the version headers of a response: [(name, value), …], which the caller does not change."""
    additions = [('OpenStack-API-Version', f'{ADDITIONS} {ADDITIONS_VERSION}')] if has_additions else []
    return [
        *additions,
        ('X-OpenStack-Ironic-API-Minimum-Version', text(MINIMUM)),
        ('X-OpenStack-Ironic-API-Maximum-Version', text(MAXIMUM)),
        (HEADER, text(minor)),
    ]
