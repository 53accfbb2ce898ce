"""Secrets of drivers are masked, whatever their key is called; what is no secret is shown."""

import pytest

from ironic_traits.db import tables
from ironic_traits.deploy import steps
from ironic_traits.inventory.core import secrets
from ironic_traits.masks import MASK, masked
from ironic_traits.transfer import differences

SECRET = [
    *(
        'api_key',
        'apiKey',
        'API-Key',
        'x_api_key',
        'secret',
        'client_secret',
        'private_key',
        'PrivateKey',
        'ssh_private_key',
    ),
    *('token', 'access_token', 'access_key', 'aws_access_key_id', 'passphrase', 'credential', 'redfish_credentials'),
    *('password', 'ipmi_password', 'irmc_passwd', 'snmp_auth_key', 'snmp_priv_key', 'snmp_community', 'passcode'),
    *('ssh_key_contents', 'encryption_key', 'ipmi_hex_kg_key_token'),
]
PLAIN = ['key', 'ssh_key_filename', 'redfish_address', 'public_key', 'keyboard', 'community', 'ipmi_username', 'monkey']
VALUES = ['hush', 17, ['hush'], {'user': 'hush'}]


@pytest.mark.parametrize('value', VALUES, ids=str)
@pytest.mark.parametrize('key', SECRET)
def test_secrets_are_masked_everywhere(key, value):
    for document in ({key: value}, {'nested': {key: value}}, {'list': [{key: value}]}, {'list': [[{key: value}]]}):
        shown = {
            'driver_info': secrets.with_masks(tables.nodes, {'driver_info': document})['driver_info_masked'],
            'step': str(steps.shown('deploy', {'step': 'x', 'args': document})),
            'difference': str(list(differences.fields('', {'x': {}}, {'x': document}, ['x']))),
        }
        assert {place: ('hush' in text or '17' in text) for place, text in shown.items()} == dict.fromkeys(shown, False)


@pytest.mark.parametrize('key', PLAIN)
def test_what_is_no_secret_is_shown(key):
    document = {key: 'one', 'nested': {key: ['two', 3, None, True]}}
    assert masked(document) == document


def test_unknown_and_switches_are_shown():
    """A key without a value, or with a switch, holds no secret."""
    assert masked({'api_key': None, 'api_key_required': True, 'access_key': 'x'}) == {
        'api_key': None,
        'api_key_required': True,
        'access_key': MASK,
    }
