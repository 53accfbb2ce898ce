"""ironic-traits-mirror: follows the Ironic of other clouds (implemented in ``mirroring``)."""

from ironic_traits.cmd import command


def main() -> None:
    """Follow clouds until SIGINT or SIGTERM, or run one command."""
    command.run('ironic-traits-mirror', 'ironic_traits.cmd.mirroring:run')


if __name__ == '__main__':
    main()
