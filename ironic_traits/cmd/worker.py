"""ironic-traits-worker: performs the provision state changes of nodes (implemented in ``working``)."""

from ironic_traits.cmd import command


def main() -> None:
    """Run a worker until SIGINT or SIGTERM."""
    command.run('ironic-traits-worker', 'ironic_traits.cmd.working:work')


if __name__ == '__main__':
    main()
