"""A real nova API without keystone, for its flavors: python -m tests.support.nova_server DIRECTORY PORT

It has SQLite, no cells and no message bus. Each client is an administrator. It prints "listening" when it is ready.
"""

import os
import sys
from wsgiref import simple_server

from tests.support.wsgi_server import run, serve

NAME, PROGRAM = 'osapi_compute', 'nova-api'
FILES = {
    'nova.conf': """
[DEFAULT]
log_file = {directory}/nova.log
state_path = {directory}
transport_url = fake:/
[api_database]
connection = sqlite:///{directory}/api.sqlite?timeout=30
sqlite_synchronous = false
[database]
connection = sqlite:///{directory}/cell0.sqlite?timeout=30
sqlite_synchronous = false
""",
    'api-paste.ini': """
[composite:osapi_compute]
use = call:nova.api.openstack.urlmap:urlmap_factory
/: versions
/v2.1: version
/v2.1/+: api
[pipeline:versions]
pipeline = faultwrap versionsapp
[pipeline:version]
pipeline = faultwrap versionapp
[pipeline:api]
pipeline = faultwrap keystonecontext apiapp
[app:versionsapp]
paste.app_factory = nova.api.openstack.compute.versions:Versions.factory
[app:versionapp]
paste.app_factory = nova.api.openstack.compute.versions:VersionsV2.factory
[app:apiapp]
paste.app_factory = nova.api.openstack.compute:APIRouterV21.factory
[filter:faultwrap]
paste.filter_factory = nova.api.openstack:FaultWrapper.factory
[filter:keystonecontext]
paste.filter_factory = nova.api.auth:NovaKeystoneContext.factory
""",
}
# The variables that keystonemiddleware would set for a token.
IDENTITY = {'HTTP_X_USER_ID': 'admin', 'HTTP_X_PROJECT_ID': 'admin', 'HTTP_X_ROLES': 'admin'}


def main(directory, port):
    """Create the schemas, and serve."""
    for name, text in FILES.items():
        (directory / name).write_text(text.format(directory=directory))
    # nova would parse our arguments.
    del sys.argv[1:]
    os.environ['OS_NOVA_CONFIG_DIR'] = str(directory)
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'

    # This chooses threads instead of eventlet.  It must be imported before all other modules of nova.
    from nova import monkey_patch

    monkey_patch.patch()
    from nova.api.openstack import wsgi_app
    from nova.db import migration

    # Read the configuration before the schemas, which need it. The application needs the schemas, and does not read the
    # configuration again.
    wsgi_app.init_global_data([str(directory / name) for name in FILES], NAME, PROGRAM)
    migration.db_sync(database='api')
    migration.db_sync(database='main')
    application = wsgi_app.init_application(NAME, PROGRAM)
    # Serve one request at a time: nova's transactions read before they write, so two of them would fail on SQLite.
    serve(
        lambda environ, start_response: application(environ | IDENTITY, start_response), port, simple_server.WSGIServer
    )


if __name__ == '__main__':
    os.environ.pop('OS_NOVA_CONFIG_FILES', None)
    run(main)
