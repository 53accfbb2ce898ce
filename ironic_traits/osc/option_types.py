"""Types of options, which refuse empty values."""

import argparse


def nonempty(value: str) -> str:
    """Return the value of an option. Use this function as a type of argparse.

    :raises argparse.ArgumentTypeError: the value is empty, usually because a shell variable is not set.
    """
    if not value:
        raise argparse.ArgumentTypeError('the value is empty')
    return value
