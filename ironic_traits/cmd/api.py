"""ironic-traits-api: the service behind its own web server (implemented in ``serving``)."""

import sys

from ironic_traits.cmd import command


def main() -> None:
    """Run the service until SIGINT or SIGTERM."""
    command.run('ironic-traits-api', 'ironic_traits.cmd.server.serving:serve', sys.argv[1:])
