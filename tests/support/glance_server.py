"""A real Glance without keystone: python -m tests.support.glance_server DIRECTORY PORT

It has SQLite and a local store, and each client is an administrator. It prints "listening" when it is ready.
"""

import os

from tests.support.wsgi_server import run, serve

FILES = {
    'glance-api.conf': """
[DEFAULT]
public_endpoint = http://127.0.0.1:{port}
enabled_backends = local:file
node_staging_uri = file://{directory}/staging
log_file = {directory}/glance.log
[database]
connection = sqlite:///{directory}/glance.sqlite
[glance_store]
default_backend = local
[local]
filesystem_store_datadir = {directory}/images
[os_glance_staging_store]
filesystem_store_datadir = {directory}/staging
[os_glance_tasks_store]
filesystem_store_datadir = {directory}/tasks
[oslo_concurrency]
lock_path = {directory}/lock
[oslo_policy]
policy_file = {directory}/policy.yaml
[paste_deploy]
flavor =
config_file = {directory}/glance-api-paste.ini
""",
    'glance-api-paste.ini': """
[composite:glance-api]
paste.composite_factory = glance.api:root_app_factory
/: api
[composite:api]
paste.composite_factory = glance.api:pipeline_factory
default = versionnegotiation context rootapp
[composite:rootapp]
paste.composite_factory = glance.api:root_app_factory
/: apiversions
/v2: apiv2app
[app:apiversions]
paste.app_factory = glance.api.versions:create_resource
[app:apiv2app]
paste.app_factory = glance.api.v2.router:API.factory
[filter:versionnegotiation]
paste.filter_factory = glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory
[filter:context]
paste.filter_factory = glance.api.middleware.context:UnauthenticatedContextMiddleware.factory
""",
    # Without authentication, a context has no roles, which the default rules require.
    'policy.yaml': '"context_is_admin": "@"\n"service_api": "@"\n',
}


def main(directory, port):
    """Create the schema, and serve."""
    for name in ('images', 'staging', 'tasks', 'lock'):
        (directory / name).mkdir()
    for name, text in FILES.items():
        (directory / name).write_text(text.format(directory=directory, port=port))

    os.environ['OS_GLANCE_CONFIG_DIR'] = str(directory)
    # The command registers its options with Glance's shared configuration, so import it first.
    from glance.cmd import manage
    from glance.common import wsgi_app

    manage.CONF([], project='glance', prog='glance-api', default_config_files=[str(directory / 'glance-api.conf')])
    manage.DbCommands().sync()
    serve(wsgi_app.init_app(), port)


if __name__ == '__main__':
    run(main)
