"""The real Placement's own suite: the files that do without allocations and candidates, on each database."""

import pytest

from ironic_traits import policies
from tests import placement_suite
from tests.client import Client
from tests.service import make_app

#: The files, by what they are about.
FILES = [
    *('basic-http', 'bug-1674694', 'confirm-auth', 'cors', 'microversion-bug-1724065', 'microversion', 'non-cors'),
    *('resource-provider-bug-1779818', 'resource-provider-duplication', 'resource-provider-links', 'unicode'),
    *('resource-provider-any-traits', 'resource-provider', 'traits'),
    *('aggregate', 'inventory', 'resource-classes-1-6', 'resource-classes-1-7', 'resource-classes-last-modified'),
    *('resource-classes', 'resource-provider-aggregates'),
    *('aggregate-legacy-rbac', 'aggregate-policy', 'aggregate-secure-rbac'),
    *('inventory-legacy-rbac', 'inventory-policy', 'inventory-secure-rbac'),
    *('resource-classes-legacy-rbac', 'resource-classes-policy', 'resource-classes-secure-rbac'),
    *('resource-provider-legacy-rbac', 'resource-provider-policy', 'resource-provider-secure-rbac'),
    *('traits-legacy-rbac', 'traits-policy', 'traits-secure-rbac'),
]
#: What needs the allocations of a provider, or candidates.
WAITING = {
    'resource-provider-links': {'get rp latest', 'get rp allocations link added in 1.11'},
    'resource-provider': {'list one resource provider filtering by uuid with allocations link'},
    'resource-provider-aggregates': {'negative agg error on old microversion with !in prefix'},
}

#: The suite does not expect that everybody may read traits, which is the specification's word and the default here.
DEFAULT_POLICY = {
    'placement:traits:list': 'rule:admin_or_service_api',
    'placement:traits:show': 'rule:admin_or_service_api',
}
OPEN_POLICY = {rule.name: '@' for rule in policies.list_rules() if rule.name != 'admin_api'}


def options(profile, policy_file):
    """Give the configuration of the service for a profile of the suite."""
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
    """Fills the database for the files."""

    def ask(self, *arguments, headers, **rest):
        headers |= {'X-Auth-Token': 'admin', 'X-Roles': 'admin,service,member,reader'}
        return super().ask(*arguments, headers=headers, **rest)


@pytest.mark.parametrize('path', [p for p in placement_suite.FILES if p.stem in FILES], ids=lambda path: path.stem)
def test_file(database_url, tmp_path, path):
    chosen = options(placement_suite.profile(path), tmp_path / 'policy.yaml')
    with make_app(database_url, **chosen) as app:
        passed, broken = placement_suite.run(path, app, Administrator(app))
    assert passed
    assert broken.keys() == WAITING.get(path.stem, set()), '\n'.join(map(': '.join, broken.items()))
