"""The first half of ``ironic_differences``."""

from tests.differential import ironic_cases as cases
from tests.differential.comparing import MISSING
from tests.differential.rows import fails, has, status

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
    (
        'A rule without conditions is shown (Ironic: 500)',
        status(500, (200, 201), '^(POST|PATCH) /v1/inspection_rules', 'NoneType'),
    ),
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
        status(200, 400, 'GET', 'Unrecognized value|Expected UUID'),
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
    ('History has more kinds of events', has(r'^answer\.history', operation='/history$')),
    (
        'A redacted value names the permission in one sentence',
        has('', when=lambda difference: 'edacted' in str(difference.theirs) and 'edacted' in str(difference.ours)),
    ),
    (
        'A 404 names what could not be found (Ironic: "Portgroup None", whatever it was)',
        has('^message$', when=cases.names_another),
    ),
    (
        'A name with .json is one of a node, if there is such a node',
        has('^message$', operation=r'^(GET|PATCH|DELETE) /v1/nodes/\{node\}$', when=cases.has('.json')),
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
        'boot_mode and secure_boot are set below the states of a node, not with its creation',
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
        has('', operation='GET /v1/allocations$', when=cases.has('node=')),
    ),
    (
        'A request for no field at all is refused (Ironic: links only)',
        status(200, 400, 'GET', 'does not name any field'),
    ),
    (
        'A next link repeats the parameters of the request, without defaults',
        has(r'^answer\.next$', when=cases.is_shorter),
    ),
    (
        'The service role sees all nodes, ports and allocations; the settings of the system are not for it',
        has(
            '^status$',
            (200, 201, 204, 403, 404),
            (200, 201, 204, 403, 404),
            r'chassis|templates|rules|runbooks|allocations|drivers|conductors',
            cases.is_of_service,
        ),
    ),
    (
        'project of a list of runbooks is a project (Ironic: a boolean)',
        has('', operation='GET /v1/runbooks$', when=cases.has('project=')),
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
        status(500, 200, '^PATCH', '^.(value|conductor_group).$|not supported between|no attribute .lower'),
    ),
]
