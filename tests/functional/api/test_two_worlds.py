"""What a caller may not see does not exist: each route gives the same response with and without the foreign nodes.

``tests/support/worlds.py`` derives the requests from the description of the API, so a new route is tested, too.
"""

import contextlib
import re

import pytest

from ironic_traits.api.description.operations import operations
from tests.functional.conftest import AccessCopy
from tests.support import worlds
from tests.support.client import Client
from tests.support.service import make_app

#: Codes of refusals of a value that is unique among all projects, also in Ironic. They confirm that the value is taken.
TAKEN = {
    'baremetal.node.duplicate',
    'baremetal.record.duplicate',
    'baremetal.instance.associated',
    'baremetal.instance.unavailable',
}
_UUID = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?')


@pytest.fixture(scope='module')
def both(access_template, tmp_path_factory):
    """[(AccessCopy, application), …] of the worlds with and without the project alpha."""
    paths = worlds.make(access_template[0], tmp_path_factory.mktemp('worlds'))
    with contextlib.ExitStack() as stack:
        urls = [f'sqlite:///{path.with_name("copy.sqlite")}' for path in paths]
        apps = [stack.enter_context(make_app(url, api__auth_strategy='noauth2')) for url in urls]
        yield [(AccessCopy(path, app), app) for path, app in zip(paths, apps, strict=True)]


def normalized(response):
    """Return status, text and warnings of a response, without times and without the uuids that the service chooses."""
    text = _UUID.sub(lambda match: match[0] if match[0][9:19] == '0000-4000-' else 'uuid', response.text)
    return response.status_int, _TIME.sub('time', text), response.headers.get('Warning')


def is_taken(response, path, body):
    """Whether a response refuses a unique value that is taken, and has no uuid besides those of the request."""
    if response.status_int == 201:
        # The refusal of the instance is in the allocation that is created.
        return response.json.get('state') == 'error' and body.get('uuid') in response.json['last_error']
    if response.status_int != 409 or response.json['code'] not in TAKEN:
        return False
    return all(uuid in f'{path} {body}' for uuid in _UUID.findall(response.text) if uuid[9:19] == '0000-4000-')


def _personas(route):
    """Return who sends a part of the requests of a route. Manager and reader may do less, so they only read."""
    roles = ('admin', 'member', *(('manager', 'reader') if route.method == 'GET' else ()))
    # An admin sees all providers, as in the real Placement.
    return [f'stranger_{role}' for role in roles if role != 'admin' or not route.path.startswith('/placement')]


#: All routes. Each persona sends each parameter, and each name. Together, they send each parameter with each name.
SENT = [
    pytest.param(route, persona, part, len(_personas(route)), id=f'{route}-{persona}')
    for route in operations()
    for part, persona in enumerate(_personas(route))
]


@pytest.mark.parametrize(('route', 'persona', 'part', 'parts'), SENT)
def test_what_the_caller_may_not_see_does_not_exist(ask, both, route, persona, part, parts):
    for path, body in worlds.Requests(ask.in_path).of(route, part, parts):
        responses = []
        for copy, app in both:
            copy.restore()
            responses.append(Client(app).ask(route.method, path, body, headers=ask.headers(persona)))
        complete, other = map(normalized, responses)
        assert complete == other or is_taken(responses[0], path, body), (route.method, path, body, complete, other)


def test_the_worlds_differ(ask, both):
    """Otherwise, the test above would compare nothing: the system's admin sees the nodes of alpha in one world only."""
    responses = [Client(app).ask('GET', '/v1/nodes', headers=ask.headers('system_admin')) for _, app in both]
    assert [len(response.json['nodes']) for response in responses] == [5, 2]
