"""ironic-traits-api: the service behind its own web server (``serving`` has the rest)."""

import sys

from ironic_traits.cmd import command


def main():
    """Run the service until it is told to stop."""
    command.run('ironic-traits-api', 'ironic_traits.cmd.serving:serve', sys.argv[1:])
