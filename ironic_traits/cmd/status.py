"""ironic-traits-status upgrade check: whether this release can work with what is there (``checks``)."""

from ironic_traits.cmd import command


def main():
    """Look, print what was found, and exit with the worst of it."""
    command.run('ironic-traits-status', 'ironic_traits.cmd.checks:check')
