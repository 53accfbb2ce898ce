"""The differences from Ironic 39.0.0 that generated requests show: (reason, predicate of Differences)."""

import re

from tests.differential.comparing import MISSING
from tests.differential.rows import fails, has, status

_REFUSED = (400, 404, 405, 406, 409)


def _is_refused_otherwise(difference):
    """Whether both services refuse a request, not because of its user alone."""
    statuses = {difference.theirs, difference.ours}
    return statuses <= {*_REFUSED, 403} and statuses != {403, 404}


def _has(text):
    """Return a predicate of requests whose path has a text."""
    return lambda difference: text in difference.calls[0]['path']


def _is_shorter(difference):
    """Whether our link to the next page has the same parameters as theirs, but without defaults."""
    theirs, ours = (set(each.split('&')) for each in (difference.theirs, difference.ours))
    # Ironic leaves out empty ones.
    ours = {each for each in ours if not each.endswith('=')}
    return theirs - {each for each in theirs - ours if each.startswith(('fields=', 'sort_'))} == ours


def _is_sorted_otherwise(difference):
    """Whether two lists, sorted by a key, have the same rows, or are pages of longer ones."""
    path = difference.calls[0]['path']
    if 'sort_key=' not in path or 'limit=' in path or 'marker=' in path:
        return 'sort_key=' in path
    theirs, ours = (sorted(map(str, _rows(each['answer']))) for each in difference.calls)
    return theirs == ours


def _rows(body):
    """Return what identifies the rows of the list in a body."""
    rows = next((value for value in body.values() if isinstance(value, list)), [])
    return [row.get('uuid', row.get('hostname', row.get('name'))) for row in rows]


def _is_of_service(difference):
    return difference.calls[0]['headers']['X-Roles'] == 'service'


#: What Ironic says before the version that brought a resource.
_BEFORE = r'^($|The API|Resource could)'

ROWS = [
    ('An argument or a field that is newer than the version is refused with 406', fails(406, 'needs API version')),
    (
        'A token of the wrong scope is refused with 403, or with 404 as if there were no such node (Ironic: 500)',
        status(500, (403, 404), words='requires a scope of'),
    ),
    ('Bad input is refused with 400 (Ironic: 500)', status(500, 400)),
    ('A 404 of what came with a later version names it (Ironic: 500)', status(500, 404)),
    (
        'A user without access gets a 403 at every version (Ironic: 404 before the one that brought the resource)',
        status(404, 403, words=_BEFORE),
    ),
    (
        'What a user may not see is refused with 404, as if there were none (Ironic: 403)',
        status(403, 404, words='could not be found'),
    ),
    (
        'A filter by a project of others finds nothing (Ironic: 403)',
        status(403, 200, words='list_all', when=lambda difference: 'project=' in difference.calls[0]['path']),
    ),
    ('The addresses of /v1/volume are no secret', status(403, 200, '/volume$')),
    (
        'All filters can be combined (Ironic: 400 or 403)',
        status((400, 403), (200, 404), 'ports|portgroups', 'simultaneously|Operation not permitted'),
    ),
    (
        'Names work at …/ports, …/portgroups and …/volume of a node or a portgroup (Ironic: only uuids)',
        status(404, (200, 400, 403, 406), r'\}/(port|volume)', '(Portgroup|Node) .* could not be found'),
    ),
    (
        'Names work at …/ports, …/portgroups and …/volume of a node or a portgroup (Ironic: only uuids)',
        has('^message$', operation=r'^GET /v1/portgroups/\{portgroup\}/ports'),
    ),
    (
        'A port has a name from 1.88 on: before, it is not found by it (Ironic: at every version)',
        status(
            (200, 204, 400, 403),
            404,
            r'/v1/ports/\{port\}',
            'Port nic. could not be found',
            lambda difference: difference.minor < 88,
        ),
    ),
    ('A backfill that is refused is refused with 409 (Ironic: 500)', status(500, 409, 'POST /v1/allocations')),
    (
        'All rules at once cannot be changed or deleted (Ironic: 400, and 500)',
        status((204, 500), 405, 'DELETE /v1/inspection_rules$'),
    ),
    ('The uuid of an allocation is one (Ironic: any text)', status(201, 400, 'POST /v1/allocations', 'Expected UUID')),
    ('A rule without conditions is shown (Ironic: 500)', status(500, 201, 'POST /v1/inspection_rules', 'NoneType')),
    ('Lists can be sorted by the node (Ironic: 500)', status(500, (200, 400), 'GET', 'sqlite3.OperationalError')),
    ('Empty network data are none', status(400, 200, 'PATCH /v1/nodes', "Invalid network_data: 'links' is a required")),
    (
        'A field that is removed gets its default (Ironic: 400, or 500)',
        status((400, 500), 200, 'PATCH', 'cannot be None|can not be removed|may not be null'),
    ),
    ('The uuid cannot be patched, not even to the same value', status(200, 400, 'PATCH', 'Cannot patch /uuid')),
    (
        'The portgroups of a node, and a filter by the chassis of the path, are no error (Ironic: 500)',
        status(500, (200, 400), words='got multiple values'),
    ),
    (
        'A parameter that Ironic ignores before its version is checked at every version',
        status(200, 400, 'GET', 'Unrecognized value|Expected UUID|is not a valid'),
    ),
    (
        'A field is shown from its version on (Ironic: in the details of portgroups at every version)',
        has(r'portgroups\[\]\.\w+$', ours=MISSING, operation='GET /v1/.*portgroups'),
    ),
    (
        'updated_at is the time of the last PATCH (Ironic: of the last one that changed a value)',
        has(r'updated_at$', None, 'TIME'),
    ),
    (
        'The traits of an allocation that has ended are not left behind for the next deploy',
        has(r'instance_info\.traits$', ours=MISSING),
    ),
    (
        'A message names a node by its uuid (Ironic: by its primary key)',
        has(
            '^message$',
            when=lambda difference: (
                re.sub(r'node \\d+', 'node', difference.theirs) == re.sub(r'node [-0-9a-f]+', 'node', difference.ours)
            ),
        ),
    ),
    ('History has more kinds of events', has(r'^answer\.history', operation='/history$')),
    (
        'A redacted value names the permission in one sentence',
        has('', when=lambda difference: 'edacted' in str(difference.theirs) and 'edacted' in str(difference.ours)),
    ),
    (
        'A 404 names what could not be found (Ironic: "Portgroup None", whatever it was)',
        has(
            '^message$',
            when=lambda difference: (
                difference.ours.endswith('could not be found.')
                and (not difference.theirs or difference.theirs.endswith('could not be found.'))
            ),
        ),
    ),
    (
        'DELETE takes .json as a part of the name at every version, so that a repeated one cannot delete another node',
        has(
            '^status$',
            when=lambda difference: (
                difference.operation.startswith('DELETE') and '.json' in difference.calls[0]['path']
            ),
        ),
    ),
    ('A node that does not exist has no volumes', status(200, 404, '/volume$')),
    (
        'boot_mode and secure_boot are what the hardware reports: nobody sets them',
        status(201, 400, 'POST /v1/nodes', 'Unknown fields: (boot_mode|secure_boot)'),
    ),
    (
        'The physical network of a portgroup is not empty',
        status((200, 201), 400, 'portgroups', 'physical_network. Value: ..\\. it may not'),
    ),
    (
        'A message says which of several faults it means',
        has('^message$', operation='^(POST|PATCH|PUT)', when=lambda difference: difference.calls[0]['status'] == 409),
    ),
    (
        'Words for booleans are accepted everywhere, because baremetal sends some',
        status(400, 200, 'PATCH', 'is not of type .boolean'),
    ),
    (
        'Allocations are filtered by their node (Ironic 39 ignores the filter)',
        has('', operation='GET /v1/allocations$', when=_has('node=')),
    ),
    (
        'A request for no field at all is refused (Ironic: links only)',
        status(200, 400, 'GET', 'does not name any field'),
    ),
    ('A next link repeats the parameters of the request, without defaults', has(r'^answer\.next$', when=_is_shorter)),
    (
        'The service role sees all nodes, ports and allocations; the settings of the system are not for it',
        has(
            '^status$',
            (200, 201, 204, 403, 404),
            (200, 201, 204, 403, 404),
            r'chassis|templates|rules|runbooks|allocations|drivers|conductors',
            _is_of_service,
        ),
    ),
    (
        'project of a list of runbooks is a project (Ironic: a boolean)',
        has('', operation='GET /v1/runbooks$', when=_has('project=')),
    ),
    (
        'A filter by a chassis that does not exist finds nothing for those who may not see chassis',
        status(404, 200, 'GET', 'Chassis'),
    ),
    (
        'A filter by a node or a portgroup that does not exist, or that a user may not see, is refused with 404',
        status(200, 404, 'GET', 'Node|Portgroup'),
    ),
    (
        'An inspection rule has no scope (Ironic: one that no answer shows)',
        status((200, 201), 400, 'inspection_rules', 'scope'),
    ),
    (
        'A volume target or connector stays at its node while the node is not powered off',
        status(200, 400, '/v1/volume/', 'volume (target|connector) update'),
    ),
    ('A port or portgroup always has a node', status(200, 400, 'PATCH', "'node_uuid' is a required")),
    (
        'A text that is too long is refused (Ironic: by the database, 500; on SQLite it is stored)',
        status((200, 201), 400, words='Value: .a{99}'),
    ),
    ('The message about an unknown driver lists those that there are', has('^message$', operation='/v1/drivers')),
    (
        'last_error of an allocation has more reasons',
        has(r'allocations?(\[\])?\.last_error$|^answer\.last_error$', operation='allocation'),
    ),
    (
        'last_error is hidden from a lessee even if there is none',
        has(r'last_error$', None, when=lambda difference: 'edacted' in difference.ours),
    ),
    ('A filter or a sort order of GET that is all right is no error (Ironic: 500)', status(500, 200, '^GET')),
    (
        'updated_at of a node is the time when a field changed (Ironic: or when the node was locked)',
        has(r'updated_at$', 'TIME', None),
    ),
    (
        'A boolean that is removed gets its default (Ironic: null)',
        has(
            r'\.(disable_power_off|retired|protected|console_enabled|maintenance|is_smartnic|pxe_enabled|public)$',
            None,
            False,
        ),
    ),
    (
        'A priority is always an integer (Ironic: a string until the template is read again)',
        has(r'priority$', when=lambda difference: str(difference.theirs) == str(difference.ours)),
    ),
    (
        'All filters can be combined (Ironic: 400 or 403)',
        has(r'^answer', operation='ports|portgroups', when=_has('conductor_groups=')),
    ),
    (
        'Filters of the ports of a node are applied (Ironic ignores the address)',
        has(r'^answer\.port(group)?s$', operation=r'/v1/nodes/\{node\}/port', ours=[]),
    ),
    ('The fields of drivers can be selected in a list, too', status(400, 200, '/v1/drivers$', 'are not valid')),
    (
        'A node can be in a conductor group without workers (Ironic: 400); both refuse work on it',
        status(400, (200, 201), '/v1/nodes', 'No conductor service registered'),
    ),
    ('A user without access is refused before the body is read (Ironic: 500)', status(500, 403)),
    (
        'A valid PATCH is no error (Ironic: 500)',
        status(500, 200, '^PATCH', '^.(value|conductor_group).$|not supported between'),
    ),
    (
        'A bad argument is refused even if the list is empty',
        status(200, 400, '^GET', 'invalid field|are not valid|Invalid sort'),
    ),
    (
        'Words for booleans are accepted everywhere, because baremetal sends some',
        status(400, 201, 'POST', 'is not of type .boolean'),
    ),
    (
        'A port has a name that can stand in a path, as other resources',
        status((200, 201), 400, '/v1/ports', 'invalid name'),
    ),
    (
        'A smart NIC has port_id and hostname (Ironic: checked only with a local_link_connection)',
        status((200, 201), 400, '/v1/ports', 'Smart NIC'),
    ),
    (
        'A PATCH that changes nothing is no conflict',
        status(409, 200, 'PATCH', 'connectivity attributes|Cannot update owner'),
    ),
    (
        'A parent is a node, and not the child itself (Ironic: any text may get there)',
        status(200, 400, 'PATCH /v1/nodes', 'its own parent'),
    ),
    ('All filters can be combined (Ironic: 400 or 403)', has('^answer', operation='ports', when=_has('address='))),
    ('An empty node in the query of /v1/nodes/validate is none', status(400, 200, '/validate$')),
    ('A page of the history has a link to the next one', has(r'^answer\.next$', MISSING, operation='/history$')),
    ('A rebuild is accepted (Ironic: 500)', status(500, 202, '/states/provision')),
    (
        'Steps of another target are refused, even if there are none',
        status(202, 400, '/provision', 'is only valid when'),
    ),
    (
        'Null is the default (Ironic: 400, and 500 for a rule without conditions, which is stored all the same)',
        status(400, (200, 201), 'inspection_rules', 'None is not of type'),
    ),
    (
        'Numbers and booleans may be text, as python-ironicclient sends them (Ironic: 400)',
        status(400, (200, 201), 'inspection_rules', 'is not of type .integer'),
    ),
    (
        'A PATCH of an inspection rule is checked as its creation (Ironic: when the rule runs)',
        status(200, 400, 'PATCH /v1/inspection_rules', 'The inspection rule is invalid'),
    ),
    ('An empty name is none', has(r'name$', '', None)),
    (
        'The resource class of a node with an instance does not change (Ironic: while the node is available)',
        status(200, 409, 'PATCH /v1/nodes', 'is associated with instance'),
    ),
    (
        'An interface that is removed gets its default; if that is no change, it is allowed in each state',
        status(409, 200, 'PATCH /v1/nodes', '_interface updated unless'),
    ),
    ('Rows without a key come last', has(r'^answer\.', operation='^GET', when=_is_sorted_otherwise)),
    (
        'An empty text of description_contains matches what has a description (Ironic: everything)',
        has(
            '^answer',
            operation='^GET',
            when=lambda difference: re.search('description_contains=(&|$)', difference.calls[0]['path']),
        ),
    ),
    (
        'A request with several faults may be refused for another one of them',
        has('^status$', when=_is_refused_otherwise),
    ),
    ('The version headers are on every answer', has(r'^headers\.X-Openstack-Ironic-Api', MISSING)),
    ('Allow names the methods of that very address (Ironic: of the noun, or none)', has(r'^headers\.Allow$')),
    (
        'A 404 of what came with a later version names it',
        has('^message$', when=lambda difference: 'needs API version' in difference.ours),
    ),
    (
        'A 404 says that there is no such resource (Ironic: nothing)',
        has('^message$', '', 'There is no resource at this URL.'),
    ),
    (
        'A 404 names what could not be found (Ironic: "Portgroup None", whatever it was)',
        has('^message$', 'Portgroup None could not be found.'),
    ),
    (
        'fields=… gives exactly the fields asked for (Ironic adds links)',
        has(r'^answer.*\.links$', ours=MISSING, when=lambda difference: 'fields=' in difference.calls[0]['path']),
    ),
    (
        'The links lead to the inspection rules (Ironic: to /v1/inspection)',
        has(r'\.links\[\]\.href$', operation='inspection_rules'),
    ),
    (
        'The links of a chassis to its nodes are a list (Ironic: a list in a list)',
        has(r'\.nodes$', operation='chassis', when=lambda difference: difference.theirs == [difference.ours]),
    ),
    ('A node has the field reservation_uuid', has(r'reservation_uuid$', MISSING)),
    (
        'A node that is written to is not shown as reserved: the lock is the row itself',
        has(r'\.reservation$', '127.0.0.1', None),
    ),
    ('/v1 lists what is served; no link to the documents of another service', has('^answer', operation='^GET /v1$')),
    ('/ shows the version of this service', has('ironic_traits_version$', MISSING, operation='^GET /$')),
    ('A method that an address does not have is refused with 405', status(400, 405, '^DELETE /v1/nodes$')),
    (
        'A port is deleted by its name, too',
        status(400, (204, 404, 403, 409), '^DELETE /v1/ports', 'Expected UUID for port_uuid'),
    ),
    ('A VIF is recorded, and detached once (Ironic: noop keeps none)', has('', operation='/vifs')),
    ('The properties of a driver are its own', has('^answer', operation='/properties$')),
    (
        'The interfaces of a driver are listed in the order of their priority (Ironic: in any order)',
        has(r'\.enabled_\w+_interfaces\[\]$'),
    ),
    ('driver_internal_info is that of each service', has('driver_internal_info')),
    (
        'fake-hardware powers a node on in a deploy, and off afterwards (Ironic: it stays as it is)',
        has(r'power_state$'),
    ),
    ('A full page has a link to the next one only if there is one', has(r'^answer\.next$', ours=MISSING)),
    (
        'Words for booleans are accepted everywhere, because baremetal sends some',
        status(400, 200, 'runbooks', 'is not of type .boolean'),
    ),
    (
        'Lists can be sorted by all fields that have one value',
        status(400, 200, words='is an invalid field for sorting'),
    ),
]
