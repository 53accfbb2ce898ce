"""What each kind of installation must be able to do."""

import json

from tests.support.concurrency import wait_until
from tests.support.http_client import ask, make


def do_the_main_job(server):
    """Find a node by its trait, and let the worker of the service move it to another state.

    :param server: tests.support.service.Server.
    """
    uuid = make(server.base)
    assert ask(server.base, 'PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_GOLD')[0] == 204
    _, _, page = ask(server.base, 'GET', '/v1/nodes?traits=CUSTOM_GOLD')
    assert [node['uuid'] for node in json.loads(page)['nodes']] == [uuid]
    assert ask(server.base, 'PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})[0] == 202

    def is_manageable():
        assert 'restarting it' not in server.output
        return json.loads(ask(server.base, 'GET', f'/v1/nodes/{uuid}')[2])['provision_state'] == 'manageable'

    wait_until(is_manageable)
