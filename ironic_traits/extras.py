"""The optional dependencies of this package."""

import importlib.metadata
import shlex

#: Its name on PyPI would be free for anyone to take, so no message says "pip install" with it.
_PACKAGE = 'ironic-traits'


def installation(extra: str) -> str:
    """Return the command that installs what an extra of setup.cfg needs.

    :param extra: name of the extra, such as ``postgresql``.
    """
    requirements = [text.split(';') for text in importlib.metadata.requires(_PACKAGE) or ()]
    needed = [name.strip() for name, *condition in requirements if f'"{extra}"' in ''.join(condition).replace("'", '"')]
    return f'pip install {shlex.join(needed)}'
