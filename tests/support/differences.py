"""The intended differences from Ironic 39.0.0: one table, for ``tests/functional/api/test_conformance.py``."""

from tests.support import inspection_differences
from tests.support.recorded_calls import (
    VERSION,
    allows,
    conductors_in,
    each_node,
    fails,
    fails_in_routing,
    has_driver_links,
    has_node,
    has_versions,
    is_full,
    is_new_allocation,
    is_put_of_traits,
    named,
    names_traits,
    nulls_last,
    only_what_is_served,
    put_answers_traits,
    replaces,
    was_available,
    without_links,
    written,
)
from tests.support.rule_differences import RULE_DIFFERENCES

_NO_STEP = (
    'Cannot service node 22222222-2222-4222-8222-00000000000a: node does not support this service step: '
    "{'interface': 'bios', 'step': 'nope'}"
)
#: (reason, predicate of calls, change of the recorded call). They are applied in this order.
DIFFERENCES = [
    (
        'The version headers are on every answer; where the version was refused, the lowest',
        lambda call: call['status'] == 406 and call['name'].startswith('nodes list with version'),
        has_versions('1.1'),
    ),
    (
        'The version headers are on every answer',
        lambda call: VERSION not in call['answer_headers'],
        has_versions(),
    ),
    (
        'One body for a 406 by Accept (Ironic: a page of HTML, or a text, in error_message)',
        named('Accept text/html', 'Accept xml'),
        fails_in_routing(406, 'Not Acceptable'),
    ),
    (
        '/v1 lists what is served; no link to the documents of another service',
        named('v1 no version header', 'v1/ trailing slash', 'v1 at 1.37'),
        only_what_is_served,
    ),
    (
        'Bad JSON, an unknown argument or field is refused with 400 (Ironic: 500)',
        lambda call: call['status'] == 500 and 'backfill' not in call['name'],
        fails(400),
    ),
    (
        'No trait ends with a newline (Ironic: its pattern accepts one)',
        named('PUT trailing newline'),
        fails(400),
    ),
    (
        'PUT of all traits answers 200 and the traits (Ironic: 204)',
        lambda call: is_put_of_traits(call) and call['status'] == 204,
        put_answers_traits,
    ),
    (
        'What stands in the path is not taken from the query (Ironic: pecan does)',
        named('PUT trait as query'),
        fails(400),
    ),
    (
        'Nothing is served below a trait, or below detail (Ironic: 400 about the body; a node called detail)',
        named('PUT deeper path', 'detail trailing'),
        fails_in_routing(404, 'Not Found'),
    ),
    ('A node may be called traits', named('/v1/nodes/traits'), fails(404, 'Node traits could not be found.')),
    (
        'Allow names the methods of that very address (Ironic: of the noun, or none)',
        lambda call: call['status'] == 405 and call['headers'].get(VERSION) == '1.37',
        allows,
    ),
    (
        'No method is served at traits before 1.37 (Ironic names those of the node)',
        named('at 1.36 (2)', 'at 1.36 (3)'),
        lambda call: call['answer_headers'].update(Allow=''),
    ),
    (
        'A 404 of what came with a later version names it',
        named('at 1.36 (4)'),
        fails(404, 'Resource could not be found. DELETE /v1/nodes/{node_ident}/traits needs API version 1.37.'),
    ),
    (
        'A 404 of what came with a later version names it',
        named('at 1.36 (5)'),
        fails(404, 'Resource could not be found. DELETE /v1/nodes/{node_ident}/traits/{trait} needs API version 1.37.'),
    ),
    (
        'A uuid is kept and shown in lower case',
        named('uppercase uuid'),
        fails(404, 'Node aaaaaaaa-1111-4111-8111-000000000001 could not be found.'),
    ),
    ('A request for no field at all is refused (Ironic: links only)', named('fields= (empty)'), fails(400)),
    (
        'fields=… gives exactly the fields asked for (Ironic adds links)',
        lambda call: 'fields=' in call['path'] and call['status'] == 200,
        without_links,
    ),
    (
        'A driver has its links, whatever the fields',
        named('ladder: firmware of the driver'),
        has_driver_links,
    ),
    ('Rows without a key come last', named('list sort_key=name'), nulls_last),
    (
        'A node is not shown as reserved while it is written to, only while its BMC works: the lock is the row itself',
        lambda call: call['method'] == 'PATCH' and call['status'] == 200 and call['path'].startswith('/v1/nodes'),
        lambda call: call['answer'].update(reservation=None),
    ),
    (
        'An argument or a field that is newer than the version is refused with 406',
        named(
            *('list filter detail=true', 'list filter detail=true&fields=uuid'),
            'ladder: port name before 1.88 patched',
            'ladder: ports by conductor group before 1.99',
            'ladder: portgroup with a network before 1.102',
            'ladder: portgroup with a category before 1.103',
            'ladder: portgroup fields=physical_network before 1.102',
            *('runbooks: create description before 1.112', 'runbooks: patch description before 1.112'),
            *('runbooks: list fields=traits before 1.112', 'runbooks: list fields=description before 1.112'),
        ),
        fails(406),
    ),
    *(
        (
            'A 404 of what came with a later version names it',
            named(f'runbooks: {name}'),
            fails(404, f'Resource could not be found. {route} needs API version {version}.'),
        )
        for name, route, version in (
            ('list before 1.92', 'GET /v1/runbooks', '1.92'),
            ('show before 1.92', 'GET /v1/runbooks/{runbook_ident}', '1.92'),
            ('traits before 1.112', 'GET /v1/runbooks/{runbook_ident}/traits', '1.112'),
            ('traits put before 1.112', 'PUT /v1/runbooks/{runbook_ident}/traits', '1.112'),
        )
    ),
    (
        'A write of its traits is an update of a runbook',
        named('runbooks: traits shown'),
        lambda call: call['answer'].update(updated_at='TIME'),
    ),
    (
        'A step that was patched stays in its place (Ironic: it moves)',
        lambda call: call['name'].startswith('runbooks: patch') and call['status'] == 200,
        lambda call: call['answer']['steps'].sort(key=lambda step: step['interface'] != 'bios'),
    ),
    (
        'A step that the driver does not have is refused before the first one (Ironic: the ramdisk may have it)',
        named('runbooks: provision service of unknown step: state'),
        lambda call: call['answer'].update(last_error=_NO_STEP, maintenance=False, fault=None),
    ),
    (
        'The step "hold" of a service holds (Ironic 39 leaves it out, if it knows the other steps)',
        named('runbooks: provision hold: state'),
        lambda call: call['answer'].update(
            provision_state='service hold',
            target_provision_state='active',
            service_step={'interface': 'power', 'step': 'hold', 'args': {}, 'priority': 0},
        ),
    ),
    (
        'A service that holds can be aborted',
        named('runbooks: provision abort of hold'),
        lambda call: call.update(status=202, answer=None, answer_headers={}),
    ),
    (
        'A 404 of what came with a later version names it (Ironic: 500)',
        named('ladder: children before 1.83'),
        fails(404, 'Resource could not be found. GET /v1/nodes/{node_ident}/children needs API version 1.83.'),
    ),
    (
        'A parent is a node, and not the child itself (Ironic: any text may get there)',
        named('ladder: child of an empty name', 'ladder: patch parent_node of itself'),
        fails(400),
    ),
    (
        'A field that is set to null is reset, as if it were removed (Ironic: 400)',
        named('ladder: patch parent_node null'),
        written('ladder: patch parent_node removed'),
    ),
    (
        'A boolean that is removed gets its default (Ironic: null)',
        named('ladder: disable_power_off removed'),
        lambda call: call['answer'].update(disable_power_off=False),
    ),
    (
        'parent_node is a filter with include_children, too (Ironic ignores it then)',
        named('ladder: list of a parent and children'),
        lambda call: call['answer'].update(nodes=call['answer']['nodes'][1:]),
    ),
    (
        'A path of a patch may escape a slash, as 1.98 promises (the schema of Ironic 39 refuses it)',
        named('ladder: escaped slash'),
        written('ladder: instance_name of a number', extra=lambda extra: extra | {'b/c': 1}),
    ),
    (
        'The message about a name that is taken names it (Ironic: the uuid of the new port)',
        named('ladder: port with a name twice'),
        fails(409, 'A port with name nic1 already exists.'),
    ),
    (
        'A port has a name that can stand in a path, as other resources',
        named('ladder: port with a name with a space'),
        fails(400),
    ),
    (
        'All filters can be combined (Ironic: 400 or 403)',
        named('ladder: ports by conductor group and node'),
        lambda call: call.update(status=200, answer={'ports': []}),
    ),
    (
        'nova counts on a power state that is known, from "manageable" on (Ironic: null until it has looked)',
        lambda call: call['status'] < 300 and has_node(call['answer'], was_available),
        each_node(was_available, lambda node: node.update(power_state='power off')),
    ),
    (
        'A node has the field reservation_uuid',
        lambda call: call['status'] < 300 and has_node(call['answer'], is_full),
        each_node(is_full, lambda node: node.update(reservation_uuid=None)),
    ),
    (
        'The host that serves the driver is this one',
        named('drivers'),
        lambda call: call['answer']['drivers'][0].update(hosts=['127.0.0.1']),
    ),
    (
        'A node is chosen before the POST of an allocation is answered (Ironic: afterwards)',
        is_new_allocation,
        lambda call: call['answer'].update(call['settled'] | {'updated_at': 'TIME'}),
    ),
    (
        'The traits of an allocation that has ended are not left behind for the next deploy',
        named('allocations: the node afterwards'),
        lambda call: call['answer'].update(instance_info={}),
    ),
    (
        'A backfill that is refused is refused with 409 (Ironic: 500)',
        named('allocations: backfill of an available node', 'allocations: backfill that does not match'),
        lambda call: fails(409, call['answer']['error_message']['faultstring'])(call),
    ),
    (
        'The traits of the node are named (Ironic: an object)',
        named('allocations: backfill that does not match'),
        names_traits,
    ),
    (
        'A backfill that is refused leaves nothing behind (Ironic: an allocation in the state "error")',
        named('allocations: the refused backfill'),
        fails(404, 'Allocation 33333333-3333-4333-8333-000000000008 could not be found.'),
    ),
    (
        'The name of an allocation is not a uuid (Ironic: it cannot be found by it)',
        named('allocations: uuid as name'),
        fails(400),
    ),
    (
        'A 404 of what came with a later version names it',
        named('allocations: list at 1.51'),
        fails(404, 'Resource could not be found. GET /v1/allocations needs API version 1.52.'),
    ),
    (
        'A 404 of what came with a later version names it',
        named('allocations: show at 1.51'),
        fails(404, 'Resource could not be found. GET /v1/allocations/{allocation_ident} needs API version 1.52.'),
    ),
    (
        'A 404 of what came with a later version names it',
        named('allocations: of a node at 1.51'),
        fails(404, 'Resource could not be found. GET /v1/nodes/{node_ident}/allocation needs API version 1.52.'),
    ),
    (
        'A 405 because of the version has the body of every 405',
        named('allocations: POST at 1.51', 'allocations: DELETE at 1.51', 'allocations: PATCH at 1.56'),
        fails_in_routing(405, 'Method Not Allowed'),
    ),
    (
        'An argument or a field that is newer than the version is refused with 406',
        named('allocations: list fields owner at 1.59'),
        fails(406),
    ),
    (
        'A conductor is alive while it has workers (Ironic: never, on SQLite)',
        lambda call: bool(conductors_in(call['answer'])),
        lambda call: [each.update(alive=True) for each in conductors_in(call['answer'])],
    ),
    *(
        (
            'A 404 of what came with a later version names it',
            named(name),
            fails(404, f'Resource could not be found. {route} needs API version {version}.'),
        )
        for name, route, version in (
            ('templates: list before 1.55', 'GET /v1/deploy_templates', '1.55'),
            ('templates: show before 1.55', 'GET /v1/deploy_templates/{template_ident}', '1.55'),
            ('conductors: list before 1.49', 'GET /v1/conductors', '1.49'),
            ('conductors: show before 1.49', 'GET /v1/conductors/{hostname}', '1.49'),
        )
    ),
    (
        'A write of its steps is an update of a deploy template',
        named('templates: patch a priority', 'templates: patch a step more', 'templates: patch steps'),
        lambda call: call['answer'].update(updated_at='TIME'),
    ),
    (
        'A priority is always an integer (Ironic: a string until the template is read again)',
        named('templates: create'),
        lambda call: call['answer']['steps'][0].update(priority=7),
    ),
    (
        'A step that was patched stays in its place (Ironic: it moves)',
        named('templates: patch a priority', 'templates: patch a step more'),
        lambda call: call['answer']['steps'].sort(key=lambda step: (step['step'], step['interface'])),
    ),
    (
        'Allow names the methods of that very address (Ironic: of the noun, or none)',
        named('templates: put'),
        lambda call: call['answer_headers'].update(Allow='DELETE, GET, PATCH'),
    ),
    (
        'An error repeats the step of the request (Ironic: with two keys more)',
        named('steps: clean missing argument: state'),
        replaces('last_error', ", 'abortable': False, 'priority': 0", ''),
    ),
    (
        'Secrets in the steps of an error are masked',
        named('steps: template with a bad argument: validate'),
        lambda call: replaces('reason', "'password': 1", "'password': '******'")({'answer': call['answer']['deploy']}),
    ),
    (
        'A full page has a link to the next one only if there is one',
        named('conductors: list ?limit=1'),
        lambda call: call['answer'].pop('next'),
    ),
    *RULE_DIFFERENCES,
    *inspection_differences.DIFFERENCES,
]
