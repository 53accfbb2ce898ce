"""The optional dependencies of this package."""

import importlib.metadata
import importlib.util
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


def missing(extra: str, *modules: str) -> str:
    """Return the sentence that says how to install an extra, if a module of it is not installed; '' otherwise."""
    absent = [name for name in modules if not _is_installed(name)]
    return f'{absent[0]} is not installed. Run: {installation(extra)}' if absent else ''


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # A package that the module is in.
        return False
