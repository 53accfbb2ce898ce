"""What real Ironic 39.0.0 answered, and what this service answers to the same requests in the same order.

``tests/data/ironic-golden.json`` holds the recorded calls that the service covers, with hosts (HOST), times (TIME) and
the maximum version (MAX) normalised.  Compared are the status, the headers kept there, and the body: keys and values,
the prose of a 404 or 409 too, but of no other failure.  Every difference that was decided stands in DIFFERENCES, with
its reason; nothing else may differ.
"""

import copy
import json
import pathlib
import re

import pytest

from tests.conftest import empty
from tests.support.client import Client
from tests.support.service import finish_work, make_app

CALLS = json.loads((pathlib.Path(__file__).parents[1] / 'data' / 'ironic-golden.json').read_text())
MAXIMUM = '1.82'
VERSION = 'X-OpenStack-Ironic-API-Version'
#: Who may do everything.
ADMIN = {'X-Auth-Token': 'admin', 'X-Roles': 'admin,member,reader', 'OpenStack-System-Scope': 'all'}
#: The node that most calls are about.
FIRST = '11111111-1111-4111-8111-000000000001'
#: What Ironic called the one node that came without a uuid.
GIVEN = 'd63e9c6f-16bc-4229-b5d3-7c5034d91d18'
#: Requests that changed something and were not recorded, by the name of the call that came next.
NOT_RECORDED = {
    'list at None': ('PUT', f'/v1/nodes/{FIRST}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']}),
    'validate wrong type': (
        'PATCH',
        f'/v1/nodes/{FIRST}',
        [{'op': 'add', 'path': '/instance_info/traits', 'value': 'notalist'}],
    ),
}
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00')


def named(*names):
    """Choose calls by name."""
    return lambda call: call['name'] in names


def fails(status, sentence=None):
    """Change what was recorded into a failure found in a controller."""

    def change(call):
        call['status'] = status
        call['answer'] = {'error_message': {'faultcode': 'Client', 'faultstring': sentence, 'debuginfo': None}}
        call['answer_headers'] = {**call['answer_headers'], 'Content-Type': 'application/json'}
        call['answer_headers'].pop('Location', None)

    return change


def fails_in_routing(status, title):
    """Change what was recorded into a failure found before a controller."""
    answer = {'error_message': {'code': status, 'title': title, 'description': None}}
    return lambda call: call.update(status=status, answer=answer)


def has_versions(version=None):
    """Add the version headers to what was recorded."""

    def change(call):
        call['answer_headers'] |= {
            'X-OpenStack-Ironic-API-Minimum-Version': '1.1',
            'X-OpenStack-Ironic-API-Maximum-Version': 'MAX',
            VERSION: version or call['headers'].get(VERSION) or '1.1',
        }

    return change


def only_what_is_served(call):
    """Take out of /v1 what is not served."""
    for name in ('lookup', 'heartbeat'):
        call['answer'].pop(name, None)
    del call['answer']['links'][1:]


def put_answers_traits(call):
    """Answer a PUT of traits with them."""
    call.update(status=200, answer={'traits': sorted(set(json.loads(call['body'])['traits']))})
    call['answer_headers']['Content-Type'] = 'application/json'


def without_links(call):
    """Take the links out of nodes."""
    for node in call['answer'].get('nodes', [call['answer']]):
        node.pop('links', None)


def nulls_last(call):
    """Sort nodes by name, those without one behind."""
    call['answer']['nodes'].sort(key=lambda node: (node['name'] is None, node['name']))


def allows(call):
    """Name the methods of the address itself."""
    methods = {'nodes': 'GET, POST', 'traits': 'DELETE, GET, PUT', 'CUSTOM_C': 'DELETE, PUT'}
    call['answer_headers']['Allow'] = methods[call['path'].rpartition('/')[2]]


def was_available(node):
    """Choose nodes that are manageable or more, before somebody changed their power."""
    return node.get('provision_state') not in ('enroll', 'missing') and node.get('power_state', 'missing') is None


def nodes_in(answer):
    """Give the nodes, or the states of the one node, in an answer."""
    return answer.get('nodes', [answer]) if isinstance(answer, dict) else []


def has_node(answer, condition):
    """Tell whether there is such a node in an answer."""
    return any(map(condition, nodes_in(answer)))


def each_node(condition, change):
    """Change such nodes in what was recorded."""
    return lambda call: [change(node) for node in nodes_in(call['answer']) if condition(node)]


#: (reason, which calls, what changes in what was recorded).  Applied in this order.
DIFFERENCES = [
    (
        'the version headers are on every answer; where the version was refused, the lowest',
        lambda call: call['status'] == 406 and call['name'].startswith('nodes list with version'),
        has_versions('1.1'),
    ),
    (
        'the version headers are on every answer',
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
        'bad JSON, an unknown argument or field is a 400 (Ironic: 500)',
        lambda call: call['status'] == 500,
        fails(400),
    ),
    (
        '$ in a pattern accepts a newline at the end; no trait has one',
        named('PUT trailing newline'),
        fails(400),
    ),
    (
        'PUT of all traits answers 200 and the traits (Ironic: 204)',
        lambda call: call['method'] == 'PUT' and call['path'].endswith('/traits') and call['status'] == 204,
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
        'Allow names the methods of that very address (Ironic: of the noun)',
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
        'fields=… gives exactly the fields asked for',
        lambda call: 'fields=' in call['path'] and call['status'] == 200,
        without_links,
    ),
    ('rows without a key come last', named('list sort_key=name'), nulls_last),
    (
        'A node that is written to is not shown as reserved: the lock is the row itself',
        lambda call: call['method'] == 'PATCH' and call['status'] == 200,
        lambda call: call['answer'].update(reservation=None),
    ),
    (
        'an argument newer than the version is a 406',
        named('list filter detail=true', 'list filter detail=true&fields=uuid'),
        fails(406),
    ),
    (
        'nova counts on a power state that is known, from "manageable" on (Ironic: null until it has looked)',
        lambda call: call['status'] < 300 and has_node(call['answer'], was_available),
        each_node(was_available, lambda node: node.update(power_state='power off')),
    ),
    (
        'There is no firmware interface before 1.86',
        lambda call: 'validate' in call['path'] and call['status'] == 200,
        lambda call: call['answer'].pop('firmware'),
    ),
    (
        'The host that serves the driver is this one',
        named('drivers'),
        lambda call: call['answer']['drivers'][0].update(hosts=['127.0.0.1']),
    ),
]


def is_trait_filter(call):
    """Choose the calls that Ironic refuses and the specification wants, from 1.37 on."""
    return call['name'].startswith('SPEC FILTER') or call['name'] == 'detail traits filter'


def expected(call):
    """Give what was recorded, with the differences that were decided."""
    call = copy.deepcopy(call)
    for _, concerns, change in DIFFERENCES:
        if concerns(call):
            change(call)
    return call


def given(answer):
    """Give the body of an answer of ours as the recorded ones are kept."""
    if not answer.body:
        return None
    text = _TIME.sub('TIME', answer.text).replace('http://localhost', 'http://HOST')
    body = json.loads(text.replace(f'"{MAXIMUM}"', '"MAX"'))
    if 'error_message' in body:
        body['error_message'] = json.loads(body['error_message'])
        # Ours, beside the real service's.
        assert body.pop('code').startswith('baremetal.')
    # Ours, too, of /.
    body.pop('ironic_traits_version', None)
    return body


def normal(body, status):
    """Take out of a body what is not compared: prose, and the order of the arguments in a link to the next page."""
    if not isinstance(body, dict):
        return body
    message = body.get('error_message', {})
    for prose in ('faultstring', 'description'):
        if prose in message and (prose == 'description' or status not in (404, 409)):
            message[prose] = 'PROSE'
    return body | {'next': 'NEXT'} if 'next' in body else body


@pytest.fixture(scope='module')
def answers(shared_database_url):
    """Every answer, by the name of the call: all calls are made once, in their order."""
    empty(shared_database_url)
    # Not noauth, which Ironic was recorded with: ours then refuses bodies that are not JSON, and Ironic takes them.
    with make_app(shared_database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        made = {}
        for call in CALLS:
            if call['name'] in NOT_RECORDED:
                client.ask(*NOT_RECORDED[call['name']], headers=ADMIN)
            raw = call['body'].encode() if call['body'] is not None else None
            made[call['name']] = client.ask(
                call['method'], call['path'], raw=raw, version=None, headers=ADMIN | call['headers']
            )
            finish_work(app)
    ours = made['POST text/plain'].json['uuid']
    return {name: _as_recorded(answer, ours) for name, answer in made.items()}


def _as_recorded(answer, ours):
    """Put the uuid that Ironic gave a node in place of ours."""
    answer.body = answer.body.replace(ours.encode(), GIVEN.encode())
    if 'Location' in answer.headers:
        answer.headers['Location'] = answer.headers['Location'].replace(ours, GIVEN)
    return answer


@pytest.mark.parametrize('call', CALLS, ids=lambda call: call['name'])
def test_call(answers, call):
    answer = answers[call['name']]
    if is_trait_filter(call):
        assert answer.status_int == 200
        return
    wanted = expected(call)
    assert answer.status_int == wanted['status'], answer.text
    for name, value in wanted['answer_headers'].items():
        got = answer.headers[name].replace('http://localhost', 'http://HOST')
        assert got == (MAXIMUM if value == 'MAX' else value), name
    if call['method'] != 'HEAD':
        assert normal(given(answer), wanted['status']) == normal(wanted['answer'], wanted['status'])


def test_every_difference_concerns_a_call():
    for reason, concerns, _ in DIFFERENCES:
        assert any(map(concerns, CALLS)), reason
