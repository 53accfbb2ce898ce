"""The types of the API."""

import subprocess
import sys

#: Builds the application in a new process, and prints the attributes whose datatypes WSME has yet to resolve.
SCRIPT = """
import sys
import wsme.types
from ironic_traits import app
from ironic_traits.service import Service
from tests.support.service import make_conf
app.build(Service(make_conf(sys.argv[1])))
for each in wsme.types.registry.complex_types:
    for attribute in wsme.types.list_attributes(each):
        if isinstance(getattr(attribute, '_datatype', None), tuple):
            print(each.__name__, attribute.name)
"""


def test_datatypes_are_resolved_before_the_first_request(tmp_path):
    """Two threads that resolve one at the same time have failed: 'Boolean' object is not subscriptable."""
    command = [sys.executable, '-c', SCRIPT, f'sqlite:///{tmp_path}/new.sqlite']
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ''
