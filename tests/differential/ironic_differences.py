"""The differences from Ironic 39.0.0 that generated requests show: (reason, predicate of Differences)."""

import re

from tests.differential import ironic_cases as cases
from tests.differential import ironic_first_differences
from tests.differential.comparing import MISSING
from tests.differential.rows import has, status

ROWS = [
    *ironic_first_differences.ROWS,
    (
        'A bad argument is refused even if the list is empty',
        status(200, 400, '^GET', 'valid field|are not valid|Invalid sort', cases.lists_nothing),
    ),
    (
        'Words for booleans are accepted everywhere, because baremetal sends some',
        status(400, 201, 'POST', 'is not of type .boolean'),
    ),
    ('Numbers are no booleans (Ironic: for persistent)', status(204, 400, '/boot_device$', '[01] is not a boolean')),
    (
        'A chassis is created from a document (Ironic: also from none)',
        status(201, 400, '^POST /v1/chassis$', 'needs a body'),
    ),
    (
        'A port or portgroup has a name that can stand in a path, as other resources',
        status((200, 201), 400, '/v1/port', 'invalid name'),
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
    (
        'A parent is a node, and not the child itself (Ironic: any text may get there)',
        status(201, 400, '^POST /v1/nodes$', "parent_node. Value: ''"),
    ),
    (
        'A sort key is checked with an address, too (Ironic ignores it)',
        status(200, 400, '^GET /v1/port', 'sort_key', cases.has('address=')),
    ),
    (
        'A page begins after its marker with an address, too (Ironic ignores it)',
        has(
            r'^answer\.port(group)?s$',
            operation='^GET /v1/port',
            when=lambda difference: (
                {'address', 'marker'} <= cases.query(difference).keys() and cases.has_fewer(difference)
            ),
        ),
    ),
    (
        'A field that is set to null gets its default (Ironic: 500)',
        status(500, (201, 409), '^POST /v1/(node|port)', 'cannot be None'),
    ),
    (
        'A field that is set to null gets its default (Ironic: 500)',
        status(500, 200, '^PATCH /v1/nodes', "'NoneType' has no len"),
    ),
    (
        'Null is the default (Ironic: 400, and 500 for a rule without conditions, which is stored all the same)',
        status(400, (200, 201), 'inspection_rules', "None is not of type 'array'|Invalid phase: None"),
    ),
    (
        'A mode of a portgroup that is set to null gets its default (Ironic: null)',
        has(r'\.mode$', None, 'active-backup', 'portgroups'),
    ),
    (
        'node_uuid is the node of /v1/nodes/validate, if the query has node, too (Ironic: 406 for a name before 1.5)',
        status(406, 200, '/validate$', '', cases.has('node_uuid=')),
    ),
    (
        'All filters can be combined (Ironic: 400 or 403)',
        has(
            r'^(answer\.ports|order)$',
            operation='ports',
            when=lambda difference: cases.filters_by(difference, 'address') and cases.has_fewer(difference),
        ),
    ),
    (
        'An empty node in the query of ports or of /v1/nodes/validate is none',
        status(400, 200, '/validate$'),
    ),
    (
        'An empty node in the query of ports or of /v1/nodes/validate is none',
        status(400, 200, '^GET /v1/ports', 'Expected UUID or name for node: ?$'),
    ),
    (
        'A uuid that is none is the name of the rule (Ironic stores any text, and cannot find the rule again)',
        has(
            r'^(headers\.Location|answer\.(name|uuid))$', operation='^POST /v1/inspection_rules$', when=cases.names_rule
        ),
    ),
    ('A page of the history has a link to the next one', has(r'^answer\.next$', MISSING, operation='/history$')),
    ('A rebuild is accepted (Ironic: 500)', status(500, 202, '/states/provision')),
    (
        'A step of a service that fake-hardware does not have is not tried (Ironic: that fails, in maintenance)',
        has(r'(maintenance|maintenance_reason|fault|last_error)$', when=cases.has_failed_service),
    ),
    (
        'A step of a service that fake-hardware does not have is not tried (Ironic: that fails, in maintenance)',
        status(204, 409, r'^DELETE /v1/nodes/\{node\}$', 'is associated with instance'),
    ),
    (
        'Steps of another target are refused, even if there are none',
        status(202, 400, '/provision', 'is only valid when|config drive is only supported'),
    ),
    (
        'Numbers and booleans may be text, as python-ironicclient sends them (Ironic: 400)',
        status(400, (200, 201), 'inspection_rules', 'is not of type .integer'),
    ),
    (
        'The resource class of a node with an instance does not change (Ironic: while the node is available)',
        status(200, 409, 'PATCH /v1/nodes', 'is associated with instance'),
    ),
    (
        'An interface that is removed gets its default; if that is no change, it is allowed in each state',
        status(409, 200, 'PATCH /v1/nodes', '_interface updated unless'),
    ),
    ('Rows without a key come last', has(r'^(order|answer\.next)$', when=cases.is_sorted_otherwise)),
    (
        'An empty text of description_contains matches what has a description (Ironic: everything)',
        has(
            '^answer',
            operation='^GET',
            when=lambda difference: re.search('description_contains=(&|$)', difference.calls[0]['path']),
        ),
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
        'A node is not shown as reserved while it is written to, only while its BMC works: the lock is the row itself',
        has(r'\.reservation$', '127.0.0.1', None),
    ),
    ('/v1 lists what is served; no link to the documents of another service', has('^answer', operation='^GET /v1$')),
    ('/ shows the version of this service', has('ironic_traits_version$', MISSING, operation='^GET /$')),
    ('A method that an address does not have is refused with 405', status(400, 405, '^DELETE /v1/nodes$')),
    (
        'A port is deleted by its name, too',
        status(400, (204, 404, 403, 409), '^DELETE /v1/ports', 'Expected UUID for port_uuid'),
    ),
    (
        'A VIF is recorded, and detached once (Ironic: noop keeps none)',
        status(204, 400, '^DELETE .*/vifs/', 'Unable to detach VIF'),
    ),
    ('A VIF is recorded, and detached once (Ironic: noop keeps none)', has(r'^answer\.vifs$', [], operation='/vifs$')),
    (
        'A VIF is recorded, and detached once (Ironic: noop keeps none)',
        status(204, 409, '^POST .*/vifs$', 'Unable to attach VIF'),
    ),
    ('The properties of a driver are its own', has('^answer', operation='/properties$')),
    (
        'The interfaces of a driver are listed in the order of their priority (Ironic: in any order)',
        has(r'\.enabled_\w+_interfaces\[\]$'),
    ),
    (
        'driver_internal_info is that of each service',
        has(
            r'driver_internal_info\.((clean|deploy|service)_steps|(cleaning|service)_disable_ramdisk'
            r'|declarative_cleaning|last_power_state_change)$',
            ours=MISSING,
        ),
    ),
    ('driver_internal_info is that of each service', has(r'driver_internal_info\.boot_device$', MISSING)),
    (
        'fake-hardware keeps the boot device that is set (Ironic: it always boots from the network, once)',
        has(r'^answer\.persistent$', False, True, r'^GET .*/boot_device$'),
    ),
    (
        'fake-hardware powers a node on in a deploy, and off afterwards (Ironic: it stays as it is)',
        has(r'\.power_state$', ('power off', 'power on'), ('power off', 'power on')),
    ),
    (
        'nova counts on a power state that is known, from "manageable" on (Ironic: null until it has looked)',
        has(r'\.power_state$', None, 'power off', when=lambda difference: not cases.has_power_in_enroll(difference)),
    ),
    (
        'The next link of records of a node leads to their next page (Ironic: to a path that does not exist)',
        has(r'^answer\.next$', operation=r'^GET /v1/nodes/\{node\}/', when=cases.is_no_link),
    ),
    ('A full page has a link to the next one only if there is one', has(r'^answer\.next$', ours=MISSING)),
    (
        'Lists can be sorted by all fields that have one value',
        status(400, 200, words='is an invalid field for sorting'),
    ),
    (
        'A marker that a user may not see is refused with 404, as if there were none (Ironic: it is used)',
        status(200, 404, '^GET /v1/(allocations|ports)$', 'Allocation|Port', cases.has('marker=')),
    ),
    (
        'The arguments of a condition have the right types (Ironic: checked when the rule runs)',
        status((200, 201), 400, 'inspection_rules', 'is not a list'),
    ),
    (
        'A field that a patch has removed is null (Ironic: it does not exist)',
        status(400, 200, '^PATCH', "can't (replace|remove) a non-existent", cases.patches_twice),
    ),
    (
        'A patch is checked by what it leads to (Ironic: also a name that it replaces)',
        status(400, 200, '^PATCH', 'invalid name', cases.patches_twice),
    ),
    (
        'A patch is checked by what it leads to (Ironic: by the first node that it names)',
        status(
            200, 400, '^PATCH /v1/(port|volume)', r'another owner|^Node \S+ could not be found', cases.patches_twice
        ),
    ),
    ('A valid PATCH is no error (Ironic: 500)', status(500, 200, '^PATCH /v1/portgroups', 'list index out of range')),
    (
        'The service role sees all nodes, ports and allocations; the settings of the system are not for it',
        has(
            r'^answer\.runbooks$',
            operation='^GET /v1/runbooks$',
            when=lambda difference: cases.is_of_service(difference) and cases.has_fewer(difference),
        ),
    ),
    (
        'The allocation of a node that does not exist is refused with 404 (Ironic: 400)',
        status(400, 404, r'/v1/nodes/\{node\}/allocation$', '^Node .* could not be found'),
    ),
    ('A method of a later version is refused before the body is read (Ironic: 500)', status(500, 405)),
    (
        'A conductor is alive while it has workers (Ironic: never, on SQLite)',
        has(r'^answer(\.conductors\[\])?\.alive$', False, True, '/v1/conductors'),
    ),
    ('A field that is removed gets its default (Ironic: 400, or 500)', has(r'\.phase$', None, 'main', 'rules')),
    (
        'The steps of a patched deploy template are checked as those of a new one',
        status(200, 400, '^PATCH /v1/deploy_templates', 'Additional properties'),
    ),
    (
        'parent_node is a filter with include_children, too (Ironic ignores it then)',
        has(
            r'^answer\.nodes$',
            when=lambda difference: (
                {'parent_node', 'include_children'} <= cases.query(difference).keys() and cases.has_fewer(difference)
            ),
        ),
    ),
    (
        'A secret is redacted in the answer to POST, too',
        has(r'^answer\.properties\.', operation='^POST /v1/volume/targets$', when=cases.redacts),
    ),
    (
        'detail is no argument of the nodes of a chassis (Ironic: 500, or ignored if it is false)',
        status(200, 400, r'^GET /v1/chassis/\{chassis\}/nodes$', 'Unexpected arguments: detail'),
    ),
    (
        'An empty array and incomplete JSON are no body of maintenance (Ironic ignores them)',
        status(202, 400, '/maintenance$', 'A JSON object is expected|Malformed JSON'),
    ),
    (
        'A step that was patched stays in its place (Ironic: it moves)',
        has(r'^answer\.(\w+\[\]\.)?steps\[\]', operation='/v1/(deploy_templates|runbooks)', when=cases.has_same_steps),
    ),
    (
        'An empty name or owner of an allocation is none (Ironic: it is its name or owner)',
        has(r'^answer\.(allocations\[\]\.)?(name|owner)$', '', None, 'allocation'),
    ),
    (
        'The states in which a node is deleted are a list',
        has('^message$', operation=r'^DELETE /v1/nodes/\{node\}$', when=cases.says_states),
    ),
    (
        'A runbook needs no disable_ramdisk (Ironic: refused before the version of that argument)',
        status(406, 202, '/states/provision$', 'disable_ramdisk is not acceptable'),
    ),
    (
        'An empty name of an interface is the default',
        status(400, (200, 201), '^(POST|PATCH) /v1/nodes', r"following interface in the '[\w.]+' entrypoint: \."),
    ),
    (
        'A portgroup of a port of a node in use is refused (Ironic: ignored unless a patch begins with it)',
        status(
            200,
            409,
            '^PATCH /v1/ports',
            'connectivity attributes',
            lambda difference: (
                'portgroup_uuid' in difference.calls[0]['body']
                and difference.calls[0]['answer']['portgroup_uuid'] is None
            ),
        ),
    ),
    (
        'A request with several faults may be refused for another one of them',
        has('^status$', when=cases.is_refused_otherwise),
    ),
]
