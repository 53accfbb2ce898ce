"""The files of the checkout, for tests of what is written in them."""

import pathlib

CHECKOUT = pathlib.Path(__file__).parents[2]
_PATTERNS = (
    *(f'{folder}/**/*' for folder in ('ironic_traits', 'benchmarks', 'doc/source', 'api-ref/source')),
    'releasenotes/notes/*',
)


def files(suffixes, *patterns):
    """Return the files of the code and of the documents, and those of further patterns, sorted.

    Each pattern must match such a file. Otherwise it would check nothing.

    :param suffixes: those of the files.
    """
    found = {}
    for pattern in (*_PATTERNS, *patterns):
        paths = [path for path in CHECKOUT.glob(pattern) if path.is_file() and path.suffix in suffixes]
        assert paths, pattern
        found |= dict.fromkeys(path for path in paths if 'vendor' not in path.parts)
    return sorted(found)
