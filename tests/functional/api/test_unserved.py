"""The parts of Ironic's API that this service does not have: what each role gets, compared with Ironic 39.0.0."""

import json
import pathlib

import pytest

from tests.support.client import Client, message
from tests.support.personas import NODE, headers

#: {method, path, body, statuses: {version: {persona: status}}} of requests to an Ironic with keystone.
_RECORDED = json.loads((pathlib.Path(__file__).parents[2] / 'data' / 'ironic-unserved.json').read_text())
#: What Ironic does if it allows the request: it succeeds, or fake-hardware refuses it.
_ALLOWED = {200, 202, 204, 400}
#: The resources of the recorded paths that this service has.
_SERVED = {'boot_device', 'boot_mode', 'indicators', 'inject_nmi', 'secure_boot', 'vmedia'}
#: What Ironic's fake-hardware refuses, and that of this service does.
_ACCEPTED = {('PUT', 'inject_nmi'): 204, ('GET', 'vmedia'): 200}


@pytest.mark.parametrize('call', _RECORDED, ids=lambda call: '{method} {path}'.format(**call))
def test_the_same_callers_as_in_ironic_are_refused(ask, call):
    path, client = call['path'].format(node=NODE), Client(ask.app)
    for version, statuses in call['statuses'].items():
        for persona, status in statuses.items():
            response = client.ask(call['method'], path, call['body'], version=version, headers=headers(persona))
            if served := _SERVED.intersection(path.split('/')):
                expected = _ACCEPTED.get((call['method'], *served), 400) if status == 400 else status
                assert response.status_int == expected, (version, persona, response.text)
                continue
            is_unserved = message(response).startswith('ironic-traits does not implement /v1/')
            expected = (404, True) if status in _ALLOWED else (status, False)
            assert (response.status_int, is_unserved) == expected, (version, persona, response.text)
