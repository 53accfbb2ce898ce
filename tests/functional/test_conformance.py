"""What real Ironic 39.0.0 answered, and what this service answers to the same requests in the same order.

``tests/data/ironic-golden.json`` holds the recorded calls that the service covers, with hosts (HOST), times (TIME) and
the maximum version (MAX) normalised.  Compared are the status, the headers kept there, and the body: keys and values,
but not the prose of a 400.  Every difference that was decided stands in DIFFERENCES, with its reason; nothing else may
differ.
"""

import json
import pathlib
import re

import pytest

from tests.client import Client
from tests.conftest import empty
from tests.service import make_app

CALLS = json.loads((pathlib.Path(__file__).parents[1] / 'data' / 'ironic-golden.json').read_text())
MAXIMUM = '1.37'
#: What Ironic called the one node that came without a uuid.
_GIVEN = 'd63e9c6f-16bc-4229-b5d3-7c5034d91d18'
_FIRST = '11111111-1111-4111-8111-000000000001'
_ALLOWED = {'nodes': 'GET, POST', 'traits': 'DELETE, GET, PUT', 'CUSTOM_C': 'DELETE, PUT'}
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00')


def _set(**values):
    return lambda call: call.update(values)


def _without_links(call):
    for node in call['answer'].get('nodes', [call['answer']]):
        node.pop('links', None)


def _refused(status, reason=None):
    """The same failure in the body shape of our failures; the prose is not compared."""

    def change(call):
        call['status'] = status
        call['answer'] = {'error_message': {'faultcode': 'Client', 'faultstring': reason, 'debuginfo': None}}

    return change


def _routing(call):
    call['answer'] = {
        'error_message': {
            'code': call['status'],
            'title': call['answer']['error_message']['title'],
            'description': None,
        }
    }


def _negotiated(call):
    call['answer_headers'] |= {
        'X-OpenStack-Ironic-API-Minimum-Version': '1.1',
        'X-OpenStack-Ironic-API-Maximum-Version': 'MAX',
        'X-OpenStack-Ironic-API-Version': call['headers'].get('X-OpenStack-Ironic-API-Version') or '1.1',
    }


def _body_shape(call):
    call['answer'] = {'error_message': {'code': 406, 'title': 'Not Acceptable', 'description': None}}


def _only_served(call):
    for name in ('chassis', 'ports', 'portgroups', 'volume', 'lookup', 'heartbeat'):
        call['answer'].pop(name, None)
    call['answer']['links'] = call['answer']['links'][:1]


def _no_next(call):
    call['answer'].pop('next', None)


def _put_answers_traits(call):
    traits = json.loads(call['body'])['traits']
    call.update(status=200, answer={'traits': sorted(set(traits))})
    call['answer_headers']['Content-Type'] = 'application/json'


def _fields_next(call):
    if 'next' in call['answer']:
        call['answer']['next'] = 'NEXT'


def _nulls_last(call):
    call['answer']['nodes'].sort(key=lambda node: (node['name'] is None, node['name'] or ''))


def _minimum_when_refused(call):
    call['answer_headers'] |= {
        'X-OpenStack-Ironic-API-Minimum-Version': '1.1',
        'X-OpenStack-Ironic-API-Maximum-Version': 'MAX',
        'X-OpenStack-Ironic-API-Version': '1.1',
    }


def _named(*names):
    return lambda call: call['name'] in names


def _path(part):
    return lambda call: part in call['path']


def _error(call):
    return isinstance(call['answer'], dict) and isinstance(call['answer'].get('error_message'), dict)


#: (reason, which calls, what changes in what was recorded).  Applied in this order.
DIFFERENCES = [
    (
        'DESIGN 6: the version headers are on every answer; of a refused version, the minimum',
        lambda call: call['status'] == 406 and call['name'].startswith('nodes list with version'),
        _minimum_when_refused,
    ),
    (
        'DESIGN 6: the version headers are on every answer',
        lambda call: 'X-OpenStack-Ironic-API-Version' not in call['answer_headers'],
        _negotiated,
    ),
    (
        'Routing failures say in a sentence what is wrong (Ironic: an empty description)',
        lambda call: _error(call) and 'code' in call['answer']['error_message'],
        _routing,
    ),
    (
        'One body for a 406 by Accept (Ironic: a page of HTML, or a text, in error_message)',
        _named('Accept text/html', 'Accept xml'),
        _body_shape,
    ),
    ('/v1 lists what is served; no link to documents of another service', _path('/v1'), lambda call: None),
    (
        '/v1 lists what is served; no link to documents of another service',
        _named('v1 no version header', 'v1/ trailing slash', 'v1 at 1.37'),
        _only_served,
    ),
    (
        'DESIGN 6: bad JSON, an unknown argument or field is a 400 (Ironic: 500)',
        lambda call: call['status'] == 500,
        _refused(400),
    ),
    (
        'DESIGN 6: PUT of all traits answers 200 and the traits (Ironic: 204)',
        lambda call: (
            call['method'] == 'PUT'
            and call['path'].endswith('/traits')
            and call['status'] == 204
            and call['name'] != 'PUT trailing newline'
        ),
        _put_answers_traits,
    ),
    (
        'DESIGN 3: $ in a pattern accepts a trailing newline; a trait does not have one',
        _named('PUT trailing newline'),
        _refused(400),
    ),
    (
        'An argument in the path is not taken from the query (Ironic: pecan does)',
        _named('PUT trait as query'),
        lambda call: (_refused(400)(call), call['answer_headers'].pop('Location', None)),
    ),
    (
        'Nothing is served below a trait (Ironic: 400 about the body)',
        _named('PUT deeper path'),
        _set(status=404, answer={'error_message': {'code': 404, 'title': 'Not Found', 'description': None}}),
    ),
    (
        'Nothing is served below detail (Ironic: looks for a node of that name)',
        _named('detail trailing'),
        _set(answer={'error_message': {'code': 404, 'title': 'Not Found', 'description': None}}),
    ),
    (
        'DESIGN 6: fields=… gives exactly the fields asked for',
        lambda c: 'fields=' in c['path'] and c['status'] == 200,
        _without_links,
    ),
    (
        'A node being written to is not shown as reserved: the lock is the row itself',
        lambda call: call['method'] == 'PATCH' and call['status'] == 200,
        lambda call: call['answer'].update(reservation=None),
    ),
    (
        'Allow names the methods of that very address (Ironic: of the noun)',
        lambda call: call['status'] == 405 and call['headers'].get('X-OpenStack-Ironic-API-Version') == '1.37',
        lambda call: call['answer_headers'].update(Allow=_ALLOWED[call['path'].rpartition('/')[2]]),
    ),
    (
        'A node may be called traits',
        _named('/v1/nodes/traits'),
        _refused(404, 'Node traits could not be found.'),
    ),
    (
        'No method is served at traits before 1.37 (Ironic: those of the node)',
        _named('at 1.36 (2)', 'at 1.36 (3)'),
        lambda call: call['answer_headers'].update(Allow=''),
    ),
    (
        'A uuid is kept and shown in lower case',
        _named('uppercase uuid'),
        _refused(404, 'Node aaaaaaaa-1111-4111-8111-000000000001 could not be found.'),
    ),
    (
        'A request for no field at all is refused (Ironic: links only)',
        _named('fields= (empty)'),
        _refused(400),
    ),
    ('DESIGN 3: no suffix is cut off a name (Ironic from 1.91 on)', _named('show .json suffix'), _refused(404)),
    ('DESIGN 6: next is absent on the last page', _named('full last page'), lambda call: None),
    (
        'DESIGN 6: next keeps what was asked for; its arguments are in another order',
        lambda c: isinstance(c['answer'], dict),
        _fields_next,
    ),
    ('DESIGN 4: rows without a key come last', _named('list sort_key=name'), _nulls_last),
    (
        'DESIGN 6: the four filters are there from 1.37 on',
        lambda call: call['name'].startswith('SPEC FILTER') or call['name'] == 'detail traits filter',
        None,
    ),
    (
        'DESIGN 6: an argument newer than the version is a 406',
        _named('list filter detail=true', 'list filter detail=true&fields=uuid'),
        _refused(406),
    ),
    (
        'A field after the maximum version is unknown to POST (Ironic: 406)',
        _named('POST field too new (owner at 1.37)'),
        _refused(400),
    ),
    (
        'A 406 names the version to ask for',
        lambda call: call['status'] == 406 and _error(call) and 'faultstring' in call['answer']['error_message'],
        _refused(406),
    ),
    ('A 404 of an unserved version names the version to ask for', _named('at 1.36 (4)', 'at 1.36 (5)'), _refused(404)),
    (
        'The host is this one, and port and driver have nothing behind them yet',
        _named('drivers'),
        lambda call: call['answer']['drivers'][0].update(hosts=['127.0.0.1']),
    ),
]


def _expected(call):
    call = json.loads(json.dumps(call))
    for _, concerns, change in DIFFERENCES:
        if concerns(call):
            if change is None:
                return None
            change(call)
    return call


def _normal(text):
    return _TIME.sub('TIME', text).replace('http://localhost', 'http://HOST')


def _body(answer):
    if not answer.body:
        return None
    body = json.loads(_normal(answer.text))
    if 'error_message' in body:
        body['error_message'] = json.loads(body['error_message'])
        # Ours, beside the real service's.
        assert body.pop('code').startswith('baremetal.')
    elif 'version' in body or 'versions' in body:
        body = json.loads(json.dumps(body).replace(f'"{MAXIMUM}"', '"MAX"'))
    if body.get('next'):
        body['next'] = 'NEXT'
    return body


def _forget_prose(body, status):
    if isinstance(body, dict) and isinstance(body.get('error_message'), dict):
        told = body['error_message']
        if 'description' in told:
            told['description'] = None
        if status == 400 or told.get('faultstring') is None:
            told['faultstring'] = None if 'faultstring' in told else told.pop('faultstring', None)
            if 'description' in told:
                told.pop('faultstring', None)
    return body


@pytest.fixture(scope='module')
def answers(shared_database_url):
    """Every answer, by the name of the call: all calls are made once, in their order."""
    empty(shared_database_url)
    with make_app(shared_database_url) as app:
        client = Client(app)
        made = {}
        for call in CALLS:
            if call['name'] == 'list at None':
                # The one request that changed something and was not recorded.
                client.ask('PUT', f'/v1/nodes/{_FIRST}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']})
            raw = call['body'].encode() if call['body'] is not None else None
            made[call['name']] = client.ask(
                call['method'], call['path'], raw=raw, version=None, headers=call['headers']
            )
    given = made['POST text/plain'].json['uuid']
    return {name: _as_recorded(answer, given) for name, answer in made.items()}


def _as_recorded(answer, given):
    """Put the uuid that Ironic gave a node in place of ours."""
    answer.body = answer.body.replace(given.encode(), _GIVEN.encode())
    if 'Location' in answer.headers:
        answer.headers['Location'] = answer.headers['Location'].replace(given, _GIVEN)
    return answer


@pytest.mark.parametrize('call', CALLS, ids=lambda call: call['name'])
def test_call(answers, call):
    answer = answers[call['name']]
    expected = _expected(call)
    if expected is None:
        assert answer.status_int == 200
        return
    assert answer.status_int == expected['status'], answer.text
    for name, value in expected['answer_headers'].items():
        if name.endswith('Maximum-Version'):
            value = MAXIMUM
        assert _normal(answer.headers[name]) == value, name
    body = _body(answer)
    if call['method'] == 'HEAD':
        assert body is None
        return
    wanted = expected['answer']
    if isinstance(body, dict) and 'error_message' in body and wanted['error_message'].get('faultstring') is None:
        body['error_message'].pop('faultstring', None)
        wanted['error_message'].pop('faultstring', None)
    assert _forget_prose(body, expected['status']) == _forget_prose(wanted, expected['status'])
