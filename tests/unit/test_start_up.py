"""The imports at the start of the service: the first response should come within a second."""

import subprocess
import sys

#: Packages that only keystone or single requests need.
_LATE = ('keystonemiddleware', 'oslo_policy.policy', 'openstack', 'prometheus_client')
_LATE_OWN = ('ironic_traits.policies', 'ironic_traits.api.description.documents', 'ironic_traits.osc')


def test_what_the_start_does_not_need_is_not_imported():
    code = 'import ironic_traits.cmd.server.serving, sys; print(*sys.modules, sep="\\n")'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=120)
    assert not {*_LATE, *_LATE_OWN}.intersection(done.stdout.splitlines())
