"""Commands of the real clients, run with a service."""

import json
import os

from tests.support import commands


def without_credentials():
    """Return the environment without the variables of clouds."""
    return {name: value for name, value in os.environ.items() if not name.startswith('OS_')}


def run(server, *command, path='', code=0, stream='stdout'):
    """Run a command, and return its output, or its errors if it fails.

    :param stream: the stream of a successful command to return.
    """
    environment = without_credentials()
    environment |= {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base + path, 'OS_PLACEMENT_API_VERSION': '1.39'}
    done = commands.run(*command, env=environment)
    assert done.returncode == code, done.stderr
    return getattr(done, stream) if code == 0 else done.stderr


def rows(server, *command, path=''):
    """Run a command, and return the rows that it prints."""
    return json.loads(run(server, *command, '-f', 'json', path=path))


OPENSTACK, BAREMETAL = ('openstack', 'baremetal'), ('baremetal',)


def parsing(program, *options):
    """Return a function that runs a command with these options.

    It returns the output with the errors, or the document in the output if one of its arguments is -f.
    """
    environment = without_credentials()

    def run_with_options(*arguments, ok=True):
        done = commands.run(program, *options, *arguments, env=environment)
        assert (done.returncode == 0) is ok, done.stdout + done.stderr
        return json.loads(done.stdout) if '-f' in arguments else done.stdout + done.stderr

    return run_with_options
