"""Validation of configuration files: sections and options that nothing reads, such as a mistyped name.

oslo.config's own validator reports every section that is not in the namespaces of a generator. That includes the
sections of other libraries, which a valid file may have.
"""

import glob
import os
from collections.abc import Collection, Iterable, Mapping
from importlib import metadata
from typing import Any

from oslo_config import cfg

from ironic_traits import conf as options
from ironic_traits import spelling

#: Entry points of oslo.config.opts with the options of the libraries that the service uses.
_LIBRARIES = (
    'oslo.config',
    'oslo.log',
    'oslo.db',
    'oslo.policy',
    'oslo.middleware',
    'oslo.cache',
    'keystonemiddleware.auth_token',
)
#: Minimum similarity, from 0 to 1, of a misspelled name.
_SIMILAR = 0.83
#: Sections whose options depend on the authentication plugin that they name.
_OPEN = frozenset({'keystone_authtoken'})


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """Return the sections and options that nothing reads.

    Sections of libraries may have options that the library does not list. There, and among unknown sections, only names
    that look misspelled are returned.

    :returns: sentences with the path of the file.
    """
    paths = files(conf)
    if not paths:
        # To collect the options of all libraries takes a while.
        return []
    schema = _schema()
    return [f'{path}: {sentence}' for path in paths for sentence in schema.problems(path)]


def _schema() -> '_Schema':
    own = _names(options.list_opts())
    libraries = _names(
        pair
        for point in metadata.entry_points(group='oslo.config.opts')
        if point.name in _LIBRARIES
        for pair in point.load()()
    )
    own['DEFAULT'] |= libraries.pop('DEFAULT', set())
    # The service adds options to these sections of libraries.
    for section in own.keys() & libraries.keys():
        libraries[section] |= own.pop(section)
    return _Schema(own, libraries)


def files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the paths of the configuration files that were read."""
    patterns = [os.path.join(directory, '*.conf') for directory in conf.config_dir or ()]
    return [*(conf.config_file or ()), *(path for pattern in patterns for path in sorted(glob.glob(pattern)))]


def _names(pairs: Iterable[tuple[Any, Iterable[cfg.Opt]]]) -> dict[str, set[str]]:
    """Return {section: names of its options in a file}, with deprecated names."""
    names: dict[str, set] = {'DEFAULT': set()}
    for group, opts in pairs:
        section = getattr(group, 'name', group) or 'DEFAULT'
        for opt in opts:
            names.setdefault(section, set()).add(opt.dest)
            for former in opt.deprecated_opts:
                names.setdefault(former.group or section, set()).add(former.name or opt.dest)
    return names


class _Schema:
    """The names of sections and options that something reads.

    :param own: {section: option names} of the service, complete.
    :param libraries: {section: option names} of libraries, which may have more.
    """

    def __init__(self, own: Mapping[str, set[str]], libraries: Mapping[str, set[str]]) -> None:
        self._own = own
        self._libraries = libraries

    def problems(self, path: str) -> list[str]:
        """Return a sentence for each name in a file that nothing reads."""
        sections: dict[str, dict] = {}
        cfg.ConfigParser(path, sections).parse()
        # The section that auth_section names may have any name.
        referenced = sections.get('keystone_authtoken', {}).get('auth_section', ())
        return [
            sentence
            for section, values in sections.items()
            if section not in referenced
            for sentence in self._section(section, values)
        ]

    def _section(self, section: str, values: Iterable[str]) -> list[str]:
        if section in self._own:
            return [self._option(section, name) for name in values if name not in self._own[section]]
        if section in self._libraries:
            names = set() if section in _OPEN else self._libraries[section]
            misspelled = [name for name in values if name not in names and _similar(name, names)]
            return [self._option(section, name) for name in misspelled]
        similar = _similar(section, [*self._own, *self._libraries])
        if similar:
            return [f'unknown section [{section}]: did you mean [{similar}]?']
        return []

    def _option(self, section: str, name: str) -> str:
        names = self._own.get(section) or self._libraries[section]
        similar = _similar(name.replace('-', '_'), names)
        if similar:
            return f'unknown option [{section}] {name}: did you mean {similar}?'
        elsewhere = sorted(other for other, other_names in self._own.items() if name in other_names)
        if elsewhere:
            return f'unknown option [{section}] {name}: did you mean [{elsewhere[0]}] {name}?'
        longer = sorted(each for each in names if each.startswith(name))
        return f'unknown option [{section}] {name}' + (f': did you mean {longer[0]}?' if longer else '')


def _similar(name: str, names: Collection[str]) -> str | None:
    """Return the one of the names that is most similar to another name, or None."""
    return spelling.nearest(name, names, _SIMILAR)
