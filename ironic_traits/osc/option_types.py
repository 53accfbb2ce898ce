"""Types of options, which refuse values that cannot be meant."""

import argparse


def nonempty(value):
    """Return the value of an option. It is a type for argparse.

    :raises argparse.ArgumentTypeError: the value is empty, mostly because a shell variable is not set.
    """
    if not value:
        raise argparse.ArgumentTypeError('the value is empty')
    return value
