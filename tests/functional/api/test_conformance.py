"""Recorded responses of Ironic 39.0.0, compared with those of this service to the same requests in the same order.

The files ``ironic-*.json`` of CALLS hold the recorded calls that the service covers. Hosts (HOST), times (TIME) and the
maximum version (MAX) are normalised. The tests compare the status, the recorded headers, and the keys and values of the
body. They compare messages only of 404 and 409. DIFFERENCES has each intended difference, with its reason.
"""

import copy
import json
import re

import pytest

from ironic_traits.inventory.provisioning import workers
from tests.conftest import empty
from tests.support.client import Client
from tests.support.described import Described
from tests.support.differences import DIFFERENCES
from tests.support.recorded_calls import CALLS, COMPARED, FIRST, allocations_in
from tests.support.service import finish_work, make_app

#: The form of the responses is the same on each database.
DATABASES = ('sqlite',)
MAXIMUM = '1.115'
#: A user with all permissions.
ADMIN = {'X-Auth-Token': 'admin', 'X-Roles': 'admin,member,reader', 'OpenStack-System-Scope': 'all'}
#: The uuid that Ironic generated for the one node that was created without a uuid.
GIVEN = 'd63e9c6f-16bc-4229-b5d3-7c5034d91d18'
#: {name of a call: an unrecorded write before it}.
NOT_RECORDED = {
    'list at None': ('PUT', f'/v1/nodes/{FIRST}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']}),
    'validate wrong type': (
        'PATCH',
        f'/v1/nodes/{FIRST}',
        [{'op': 'add', 'path': '/instance_info/traits', 'value': 'notalist'}],
    ),
}
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00')


def is_trait_filter(call):
    """Whether Ironic refuses the call, but the specification requires it since 1.37."""
    return call['name'].startswith('SPEC FILTER') or call['name'] == 'detail traits filter'


def expected(call):
    """Return the recorded call with the intended differences."""
    call = copy.deepcopy(call)
    for _, concerns, change in DIFFERENCES:
        if concerns(call):
            change(call)
    return call


def normalised(response):
    """Return the body of a response of this service in the form of the recorded ones."""
    if not response.body:
        return None
    text = _TIME.sub('TIME', response.text).replace('http://localhost', 'http://HOST')
    body = json.loads(text.replace(f'"{MAXIMUM}"', '"MAX"'))
    if 'error_message' in body:
        body['error_message'] = json.loads(body['error_message'])
        # Codes are an addition of this service.
        assert body.pop('code').startswith('baremetal.')
    # An addition of this service, in the body of /.
    body.pop('ironic_traits_version', None)
    return body


def normal(body, status):
    """Remove the parts of a body that are not compared: messages, and the order of the parameters in a next link."""
    if not isinstance(body, dict):
        return body
    message = body.get('error_message', {})
    for prose in ('faultstring', 'description'):
        if prose in message and (prose == 'description' or status not in (404, 409)):
            message[prose] = 'PROSE'
    for allocation in allocations_in(body):
        if allocation.get('last_error') not in (None, 'PROSE'):
            # This service states more reasons. Ironic does not expect the uuid on a node.
            failed = f'Failed to process allocation {allocation["uuid"]}: '
            assert allocation['last_error'].startswith((failed, 'Unexpected exception during allocation: Instance'))
            allocation['last_error'] = 'PROSE'
    return body | {'next': 'NEXT'} if 'next' in body else body


@pytest.fixture(scope='module')
def sent(shared_database_url):
    """{name of a call: response}, and the comparison with the description of the API.

    Each call is sent once, in the recorded order.
    """
    empty(shared_database_url)
    # Ironic was recorded with noauth, where it accepts bodies that are not JSON. This service refuses them.
    hooks = ['ramdisk-error', 'validate-interfaces', 'ports', 'architecture']
    with make_app(shared_database_url, api__auth_strategy='noauth2', inspection__hooks=hooks) as app:
        described = Described(app)
        client = Client(described)
        facts = {'hostname': '127.0.0.1', 'pid': 1, 'conductor_group': '', 'drivers': ['fake-hardware']}
        workers.beat(app.service, GIVEN, **facts)
        responses = {}
        for call in CALLS:
            if call['name'] in NOT_RECORDED:
                client.ask(*NOT_RECORDED[call['name']], headers=ADMIN)
            raw = call['body'].encode() if call['body'] is not None else None
            responses[call['name']] = client.ask(
                call['method'], call['path'], raw=raw, version=None, headers=ADMIN | call['headers']
            )
            finish_work(app)
    ours = responses['POST text/plain'].json['uuid']
    return {name: _as_recorded(response, ours) for name, response in responses.items()}, described


@pytest.fixture(scope='module')
def responses(sent):
    """{name of a call: response}."""
    return sent[0]


def test_the_description_of_the_api_allows_the_responses(sent):
    assert sent[1].problems == []
    # Check the number of compared routes and statuses: an empty comparison would have no problems.
    assert len(sent[1].compared) > 100


def _as_recorded(response, ours):
    """Replace the uuid that this service generated with the one that Ironic generated."""
    response.body = response.body.replace(ours.encode(), GIVEN.encode())
    if 'Location' in response.headers:
        response.headers['Location'] = response.headers['Location'].replace(ours, GIVEN)
    return response


def test_what_the_calls_need_succeeds(responses):
    prepared = [responses[call['name']] for call in CALLS if 'setup' in call]
    assert {response.status_int // 100 for response in prepared} == {2}


@pytest.mark.parametrize('call', COMPARED, ids=lambda call: call['name'])
def test_call(responses, call):
    response = responses[call['name']]
    if is_trait_filter(call):
        assert response.status_int == 200
        return
    recorded = expected(call)
    assert response.status_int == recorded['status'], response.text
    for name, value in recorded['answer_headers'].items():
        got = response.headers[name].replace('http://localhost', 'http://HOST')
        assert got == (MAXIMUM if value == 'MAX' else value), name
    if call['method'] != 'HEAD':
        ours, theirs = (normal(each, recorded['status']) for each in (normalised(response), recorded['answer']))
        assert ours == theirs, (
            'Ironic answers otherwise. A difference that is meant goes into tests/support/differences.py.'
        )


def test_every_difference_concerns_a_call():
    for reason, concerns, _ in DIFFERENCES:
        assert any(map(concerns, COMPARED)), reason
