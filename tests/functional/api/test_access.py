"""Access by role: each persona requests each route of both APIs. tests/data/access.yaml has the expected statuses.

The project alpha owns the nodes, and the project beta leases them.
"""

import pytest
from webob import Request

from ironic_traits.api.description.operations import operations
from ironic_traits.api.microversions import HEADER
from tests.support.client import VERSION, Client
from tests.support.personas import MATRIX, PERSONAS


def cases():
    """Generate each route with each persona and the expected status."""
    for route, row in MATRIX['routes'].items():
        for status in (status for status in row if isinstance(status, int)):
            for persona in row[status]:
                yield pytest.param(route, row.get('body'), persona, status, id=f'{route} {persona}')


@pytest.mark.parametrize(('route', 'body', 'persona', 'status'), list(cases()))
def test_access(ask, route, body, persona, status):
    response = ask(persona, route, body)
    assert response.status_int == status, response.text


class Unread:
    """A request body that fails the test when the service reads it."""

    def read(self, *size):
        raise AssertionError('the body was read')


#: Routes whose policy depends on the body: on its node, fields or instance.
BY_BODY = {'PATCH /v1/nodes/{node_ident}', 'POST /v1/ports', 'POST /v1/portgroups'}
BY_BODY |= {'POST /v1/volume/connectors', 'POST /v1/volume/targets', 'POST /v1/traits/edits'}
BY_BODY |= {'POST /v1/inspection_rules/preview', 'POST /v1/inspection_rules/apply', 'POST /v1/nodes/actions'}
#: Routes whose policy rule allows a caller without a project. A later check refuses them.
WITH_PROJECT = {
    'POST /v1/nodes',
    'POST /v1/matches',
    'POST /v1/capacity',
    'POST /v1/drift',
    'POST /v1/reservations',
    'POST /v1/runbooks',
    'POST /v1/allocations',
}
REFUSALS = [
    pytest.param(route, persona, status, id=f'{route} {persona}')
    for route, row in MATRIX['routes'].items()
    for status in {403, 404} & row.keys()
    for persona in row[status]
    if 'body' in row
    and not (route in WITH_PROJECT and persona == 'domain_admin')
    and (route not in BY_BODY or persona in ('nobody', 'domain_admin', 'stranger_reader'))
]


@pytest.mark.parametrize(('route', 'persona', 'status'), REFUSALS)
def test_refused_before_the_body_is_read(ask, route, persona, status):
    ask.prepare(route)
    method, _, address = route.partition(' ')
    request = Request.blank(
        address.format(**ask.in_path), method=method, headers=ask.headers(persona) | {HEADER: VERSION}
    )
    request.content_type, request.body_file_raw, request.content_length = 'application/json', Unread(), 10
    response = request.get_response(ask.app)
    assert response.status_int == status, response.text


def test_a_malformed_body_of_a_caller_without_permission_is_a_403(ask):
    for route in ('PUT /v1/nodes/{node_ident}/traits', 'PATCH /v1/nodes/{node_ident}', 'POST /v1/chassis'):
        for persona, status in (('owner_reader', 403), ('system_admin', 400)):
            method, _, address = route.partition(' ')
            path = address.format(**ask.in_path)
            response = Client(ask.app).ask(method, path, raw=b'{', headers=ask.headers(persona))
            assert response.status_int == status, response.text


PUBLIC = {'GET /', 'GET /v1', 'GET /placement'}


def test_matrix_is_complete():
    assert {route.partition('?')[0] for route in MATRIX['routes']} == set(map(str, operations())) - PUBLIC
    for route, row in MATRIX['routes'].items():
        personas = [persona for status in row if isinstance(status, int) for persona in row[status]]
        assert sorted(personas) == sorted(PERSONAS), route
