"""What is logged while the tests run: no password and no token is ever in it."""

import logging

from oslo_log import log

from ironic_traits import conf
from tests.keystone_client import SECRET
from tests.keystone_server import PASSWORD

#: How a fernet token begins, the passwords of keystone's users, and all others that the tests have.
SECRETS = ('gAAAA', PASSWORD, SECRET, 'hush-hush')


class Looker(logging.Handler):
    """Looks at all that is logged.

    :ivar number: of lines that it has seen.
    :ivar found: those with a secret.
    """

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.number = 0
        self.found = []

    def emit(self, record):
        self.look(self.format(record))

    def look(self, text):
        """Look at lines that somebody else has logged."""
        for line in text.splitlines():
            self.number += 1
            if any(secret in line for secret in SECRETS):
                self.found.append(line)

    def check(self):
        """Raise AssertionError if a secret was logged since the last check."""
        found, self.found = self.found, []
        assert not found, found


LOOKER = Looker()


def watch():
    """Look at all that is logged from now on, as much of it as the service logs with ``debug = true``."""
    logging.getLogger().addHandler(LOOKER)
    logging.getLogger().setLevel(logging.DEBUG)
    conf.set_library_defaults()
    for level in log.get_default_log_levels():
        name, _, least = level.partition('=')
        logging.getLogger(name).setLevel(least)
