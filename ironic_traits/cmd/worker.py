"""ironic-traits-worker: carries nodes from state to state (``working`` has the rest)."""

from ironic_traits.cmd import command


def main():
    """Work until told to stop."""
    command.run('ironic-traits-worker', 'ironic_traits.cmd.working:work')


if __name__ == '__main__':
    main()
