"""The complete functional test suite of Placement, on each database."""

import pytest

from ironic_traits import policies
from tests.support import placement_suite
from tests.support.client import Client
from tests.support.service import make_app

#: The suite expects that reading traits needs a role. The specification, and the default here, need none.
DEFAULT_POLICY = {
    'placement:traits:list': 'rule:admin_or_service_api',
    'placement:traits:show': 'rule:admin_or_service_api',
}
OPEN_POLICY = {rule.name: '@' for rule in policies.list_rules() if rule.name != 'admin_api'}


def options(profile, policy_file):
    """Return the configuration of the service for a profile of the suite."""
    rules = OPEN_POLICY if profile == 'open' else DEFAULT_POLICY
    policy_file.write_text(''.join(f'"{name}": "{check}"\n' for name, check in rules.items()))
    chosen = {
        'api__serve': 'placement',
        'api__auth_strategy': 'noauth2',
        'oslo_policy__policy_file': str(policy_file),
        'oslo_policy__enforce_new_defaults': profile == 'secure',
    }
    if profile == 'cors':
        chosen |= {
            'cors__allowed_origin': ['http://valid.example.com'],
            'cors__allow_headers': ['openstack-api-version'],
        }
    return chosen


class Administrator(Client):
    """Creates the rows that the files need."""

    def ask(self, *arguments, headers, **rest):
        headers |= {'X-Auth-Token': 'admin', 'X-Roles': 'admin,service,member,reader'}
        return super().ask(*arguments, headers=headers, **rest)


@pytest.mark.parametrize('path', placement_suite.FILES, ids=lambda path: path.stem)
def test_file(database_url, tmp_path, path):
    chosen = options(placement_suite.profile(path), tmp_path / 'policy.yaml')
    with make_app(database_url, **chosen) as app:
        passed, broken = placement_suite.run(path, app, Administrator(app))
    assert not broken, '\n'.join(map(': '.join, broken.items()))
    assert len(passed) == placement_suite.tests(path)


def test_the_suite_is_complete():
    """The suite has at least as many tests as in the release for which this was written."""
    assert len(placement_suite.FILES) >= 79
    assert sum(map(placement_suite.tests, placement_suite.FILES)) >= 1316
