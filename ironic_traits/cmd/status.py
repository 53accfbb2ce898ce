"""ironic-traits-status upgrade check: whether this release can use the database and the configuration (``checks``)."""

from ironic_traits.cmd import command


def main() -> None:
    """Run the upgrade checks."""
    command.run('ironic-traits-status', 'ironic_traits.cmd.checks:check')
