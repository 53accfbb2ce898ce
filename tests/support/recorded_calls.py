"""The recorded calls of Ironic 39.0.0, and functions that change them into those of this service."""

import json
import pathlib
import re

_DATA = pathlib.Path(__file__).parents[1] / 'data'
CALLS = [
    call
    for name in (
        'golden',
        'golden-ladder',
        'golden-allocations',
        'golden-runbooks',
        'golden-steps',
        'golden-inspection-rules',
        'golden-inspection',
    )
    for call in json.loads((_DATA / f'ironic-{name}.json').read_text())
]
#: {name of a call: the call as it was recorded}.
RECORDED = {call['name']: call for call in CALLS}
#: The other calls prepare the state for later ones.
COMPARED = [call for call in CALLS if 'setup' not in call]
VERSION = 'X-OpenStack-Ironic-API-Version'
#: The node of most calls.
FIRST = '11111111-1111-4111-8111-000000000001'
#: The keys of lists.
NOUNS = (
    'nodes',
    'ports',
    'portgroups',
    'allocations',
    'runbooks',
    'deploy_templates',
    'conductors',
    'inspection_rules',
)


def named(*names):
    """Return a predicate that selects calls by name."""
    return lambda call: call['name'] in names


def fails(status, sentence=None):
    """Return a change of a recorded call into a failure of a controller."""

    def change(call):
        call['status'] = status
        call['answer'] = {'error_message': {'faultcode': 'Client', 'faultstring': sentence, 'debuginfo': None}}
        call['answer_headers'] = {**call['answer_headers'], 'Content-Type': 'application/json'}
        call['answer_headers'].pop('Location', None)

    return change


def replaces(field, old, new):
    """Return a change of a text in a field of a recorded answer."""

    def change(call):
        assert old in call['answer'][field]
        call['answer'][field] = call['answer'][field].replace(old, new)

    return change


def fails_in_routing(status, title):
    """Return a change of a recorded call into a failure before any controller."""
    answer = {'error_message': {'code': status, 'title': title, 'description': None}}
    return lambda call: call.update(status=status, answer=answer)


def has_versions(version=None):
    """Return a change that adds the version headers."""

    def change(call):
        call['answer_headers'] |= {
            'X-OpenStack-Ironic-API-Minimum-Version': '1.1',
            'X-OpenStack-Ironic-API-Maximum-Version': 'MAX',
            VERSION: version or call['headers'].get(VERSION) or '1.1',
        }

    return change


def only_what_is_served(call):
    """Remove from /v1 the resources that this service does not serve."""
    for name in ('lookup', 'heartbeat'):
        call['answer'].pop(name, None)
    del call['answer']['links'][1:]


def put_answers_traits(call):
    """Replace the response to a PUT of traits by the traits."""
    call.update(status=200, answer={'traits': sorted(set(json.loads(call['body'])['traits']))})
    call['answer_headers']['Content-Type'] = 'application/json'


def without_links(call):
    """Remove the links of nodes and other items."""
    (items,) = [call['answer'][noun] for noun in NOUNS if noun in call['answer']] or [[call['answer']]]
    for item in items:
        item.pop('links', None)


def nulls_last(call):
    """Sort nodes by name. Nodes without a name come last."""
    call['answer']['nodes'].sort(key=lambda node: (node['name'] is None, node['name']))


def has_driver_links(call):
    """Add the links of the driver."""
    call['answer']['links'] = [
        {'href': f'http://HOST/{version}drivers/fake-hardware', 'rel': rel}
        for version, rel in (('v1/', 'self'), ('', 'bookmark'))
    ]


def written(name, **fields):
    """Return a change of a recorded call into another recorded call, with other values of some fields of the node.

    :param fields: functions from the value in the recorded node to the new one.
    """

    def change(call):
        node = RECORDED[name]['answer'] | {'reservation': None, 'reservation_uuid': None}
        call.update(status=200, answer=node | {key: value(node[key]) for key, value in fields.items()})

    return change


def allows(call):
    """Set the allowed methods of the path."""
    methods = {'nodes': 'GET, POST', 'traits': 'DELETE, GET, PUT', 'CUSTOM_C': 'DELETE, PUT'}
    call['answer_headers']['Allow'] = methods[call['path'].rpartition('/')[2]]


def is_put_of_traits(call):
    """Whether a call replaces the traits of a node."""
    return call['method'] == 'PUT' and call['path'].startswith('/v1/nodes') and call['path'].endswith('/traits')


def was_available(node):
    """Whether a node has left enroll, and its power was not changed yet."""
    return node.get('provision_state') not in ('enroll', 'missing') and node.get('power_state', 'missing') is None


def is_full(node):
    """Whether a node in a body has all fields of a version from 1.38 on."""
    return 'rescue_interface' in node


def nodes_in(body):
    """Return the nodes, or the states of the node, in a body."""
    return body.get('nodes', [body]) if isinstance(body, dict) else []


def has_node(body, condition):
    """Whether a body has a node that fulfils a condition."""
    return any(map(condition, nodes_in(body)))


def each_node(condition, change):
    """Return a change of each recorded node that fulfils a condition."""
    return lambda call: [change(node) for node in nodes_in(call['answer']) if condition(node)]


def allocations_in(body):
    """Return the allocations in a body."""
    return body.get('allocations', [body] if 'candidate_nodes' in body else []) if isinstance(body, dict) else []


def conductors_in(body):
    """Return the conductors in a body that say whether they are alive."""
    items = body.get('conductors', [body]) if isinstance(body, dict) else []
    return [each for each in items if 'alive' in each]


def names_traits(call):
    """Put the traits of the node into the message in which Ironic has an object."""
    message = call['answer']['error_message']
    message['faultstring'] = re.sub(r'TraitList\(.*?\) does', "['CUSTOM_A'] does", message['faultstring'])


def is_new_allocation(call):
    """Whether the call has created an allocation."""
    return call['method'] == 'POST' and call['status'] == 201 and bool(allocations_in(call['answer']))
