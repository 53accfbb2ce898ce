"""The types of the API."""

import subprocess
import sys

#: A program that builds the application, and prints the attributes whose datatypes WSME has not resolved.
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
    """If two threads resolved a datatype at the same time, one failed: 'Boolean' object is not subscriptable."""
    command = [sys.executable, '-c', SCRIPT, f'sqlite:///{tmp_path}/new.sqlite']
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ''
