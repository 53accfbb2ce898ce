"""A check that no password or token is logged during the tests."""

import logging

from oslo_log import log

from ironic_traits import conf
from tests.support.keystone_client import SECRET
from tests.support.keystone_server import PASSWORD

#: The prefix of fernet tokens, the passwords of keystone's users, and all other secrets in the tests.
SECRETS = ('gAAAA', PASSWORD, SECRET, 'hush-hush')


class Looker(logging.Handler):
    """A log handler that searches all lines for secrets.

    :ivar number: number of lines so far.
    :ivar leaks: the lines with a secret since the last ``check``.
    """

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.number = 0
        self.leaks = []

    def emit(self, record):
        self.look(self.format(record))

    def look(self, text):
        """Search lines, such as the output of another process."""
        for line in text.splitlines():
            self.number += 1
            if any(secret in line for secret in SECRETS):
                self.leaks.append(line)

    def check(self):
        """Raise AssertionError if a secret was logged since the last check."""
        leaks, self.leaks = self.leaks, []
        assert not leaks, leaks


LOOKER = Looker()


def attach():
    """Search the records of the root logger, also after a test that has configured logging.

    Remove the handlers of such a test: their captured output is closed, so Python would print a traceback for each
    record.
    """
    root = logging.getLogger()
    for handler in root.handlers.copy():
        if getattr(getattr(handler, 'stream', None), 'closed', False):
            root.removeHandler(handler)
    root.addHandler(LOOKER)
    root.setLevel(logging.DEBUG)


def watch():
    """Search all log records from now on, with the levels that the service has with ``debug = true``."""
    attach()
    conf.set_library_defaults()
    for level in log.get_default_log_levels():
        name, _, minimum = level.partition('=')
        logging.getLogger(name).setLevel(minimum)
