"""A real keystone: python -m tests.support.keystone_server DIRECTORY PORT

It has SQLite, fernet tokens and cheap password hashes.  The user admin, password adminpass, is the administrator of the
system and of the project admin.  It prints "listening" when it is ready.
"""

import os
import sys

from tests.support.wsgi_server import run, serve

PASSWORD = 'adminpass'
CONF = """
[DEFAULT]
log_file = {directory}/keystone.log
public_endpoint = {url}
[database]
connection = sqlite:///{directory}/keystone.sqlite?timeout=30
sqlite_synchronous = false
[identity]
password_hash_algorithm = bcrypt
password_hash_rounds = 4
[token]
provider = fernet
[fernet_tokens]
key_repository = {directory}/fernet-keys
[fernet_receipts]
key_repository = {directory}/fernet-keys
[credential]
key_repository = {directory}/credential-keys
[cache]
backend = dogpile.cache.null
[oslo_concurrency]
lock_path = {directory}/lock
"""


def main(directory, port):
    """Create the schema, the keys and the administrator, and serve."""
    url = f'http://127.0.0.1:{port}'
    (directory / 'lock').mkdir()
    (directory / 'keystone.conf').write_text(CONF.format(directory=directory, url=url))
    # keystone would parse our arguments.
    del sys.argv[1:]

    import keystone.conf
    from keystone.cmd import bootstrap
    from keystone.common import fernet_utils, sql
    from keystone.common.sql import upgrades
    from keystone.server.flask import core

    def prepare():
        """Create the schema and the keys.

        The backends need them, and the configuration can only be read once.  So this runs between the two.
        """
        upgrades.offline_sync_database_to_version()
        # SQLite reuses ids.  Without foreign keys, the roles of a deleted application credential would stay, and a new
        # one with its id would get them.
        sql.cleanup()
        sql.enable_sqlite_foreign_key()
        for group in ('fernet_tokens', 'credential'):
            keys = fernet_utils.FernetUtils(keystone.conf.CONF[group].key_repository, 3, group)
            keys.create_key_directory()
            keys.initialize_key_repository()

    application = core.initialize_application('public', prepare, [str(directory / 'keystone.conf')])
    # The application has loaded the backends, and they cannot be loaded twice.
    bootstrap.backends.load_backends = lambda: None
    bootstrapper = bootstrap.Bootstrapper()
    bootstrapper.admin_username = bootstrapper.project_name = bootstrapper.admin_role_name = 'admin'
    bootstrapper.admin_password = PASSWORD
    bootstrapper.immutable_roles = True
    bootstrapper.service_name = 'keystone'
    bootstrapper.region_id = 'RegionOne'
    bootstrapper.public_url = bootstrapper.internal_url = bootstrapper.admin_url = f'{url}/v3'
    bootstrapper.bootstrap()
    serve(application, port)


if __name__ == '__main__':
    os.environ.pop('OS_KEYSTONE_CONFIG_FILES', None)
    run(main)
