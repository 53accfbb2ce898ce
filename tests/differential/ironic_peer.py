"""A real Ironic without sockets: python -m tests.differential.ironic_peer DIRECTORY, which ``peers.Peer`` starts.

API and conductor are one process. The conductor performs its work within the request that starts it, so that answers do
not depend on time. Users are those of the headers, as with noauth2 of this service.
"""

import functools
import os
import pathlib
import sys
import types
import warnings

from tests.differential.peers import answer_lines
from tests.support.ironic_server import CONFIGURATION

#: What differs from the Ironic of other tests: the interfaces that fake-hardware has in this service.
_MORE = """
[DEFAULT]
auth_strategy = keystone
rbac_service_role_elevated_access = True
enabled_bios_interfaces = fake,no-bios
enabled_console_interfaces = fake,no-console,fake-graphical
enabled_firmware_interfaces = fake,no-firmware
enabled_inspect_interfaces = fake,agent,no-inspect
default_inspect_interface = fake
enabled_raid_interfaces = fake,no-raid
enabled_rescue_interfaces = fake,no-rescue
enabled_storage_interfaces = noop,fake
enabled_vendor_interfaces = fake,no-vendor
[database]
sqlite_synchronous = False
"""


def main(directory):
    """Create the schema, start API and conductor, and answer sequences of requests."""
    warnings.simplefilter('ignore')
    arguments = ['ironic']
    for name, text in {'ironic': CONFIGURATION.format(directory=directory, port=0), 'more': _MORE}.items():
        path = pathlib.Path(directory, f'{name}.conf')
        path.write_text(text)
        arguments += ['--config-file', str(path)]
    application, beat = _application(arguments)
    answer_lines(application, os.path.join(directory, 'ironic.sqlite'), beat)


def _application(arguments):
    """Start a conductor in this process, and return the WSGI application and a function that shows it as alive."""
    import jsonschema
    from oslo_service import backend

    backend.init_backend(backend.BackendType.THREADING)
    from ironic.api import app
    from ironic.common import rpc, service
    from ironic.db import migration
    from oslo_db.sqlalchemy import engines
    from pecan import util

    # A process without threads has nobody to yield to.
    engines._thread_yield = lambda *connection: None
    # Each request would inspect functions that never change.
    known = functools.cache(util._getargspec)
    util._getargspec = lambda method: known(getattr(method, '__func__', method))
    service.prepare_service('ironic', arguments)
    migration.create_schema()
    conductor = _conductor()
    rpc.set_global_manager(conductor)
    app.auth_token.AuthProtocol = _trusted
    for validator in (jsonschema.Draft4Validator, jsonschema.Draft202012Validator):
        # Each request would check a schema that never changes, for a quarter of the time.
        validator.check_schema = lambda *schema, **options: None
    # On SQLite a conductor has no heartbeats.
    return app.VersionSelectorApplication(), conductor.conductor.touch


def _conductor():
    import futurist
    from ironic.common import context
    from ironic.conductor import allocations, manager
    from ironic.drivers.modules import fake

    conductor = manager.ConductorManager('127.0.0.1', 'ironic.conductor_manager')
    conductor.prepare_host()
    conductor.init_host(context.get_admin_context())
    conductor._periodic_tasks.stop()
    conductor._executor = futurist.SynchronousExecutor()
    _have_power_states(fake)
    # Candidates of an allocation stay in their order.
    allocations.random = types.SimpleNamespace(shuffle=lambda nodes: None)
    return conductor


def _have_power_states(fake):
    """Let simulated machines have a power state from the start, as real ones: nodes without one cannot be allocated."""
    known = fake.FakePower.get_power_state
    fake.FakePower.get_power_state = lambda power, task: known(power, task) or 'power off'


def _trusted(application, configuration):
    """Return an application that takes the user from the headers, in the place of the middleware of keystone."""

    def respond(environ, start_response):
        user, _, project = environ['HTTP_X_AUTH_TOKEN'].partition(':')
        environ['HTTP_X_USER_ID'] = user
        if not {'HTTP_OPENSTACK_SYSTEM_SCOPE', 'HTTP_X_DOMAIN_ID'} & environ.keys():
            environ['HTTP_X_PROJECT_ID'] = project or user
        return application(environ, start_response)

    return respond


if __name__ == '__main__':
    main(sys.argv[1])
