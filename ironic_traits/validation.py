"""What configuration files say that nothing reads: a mistyped name would leave an option at its default, silently.

oslo.config's own validator checks files against everything that a generator's namespaces list, and takes each section
that is not listed for an error; a file with the sections of other libraries would never be without one.
"""

import difflib
import glob
import os
from importlib import metadata

from oslo_config import cfg

from ironic_traits import conf as options

#: Entry points of oslo.config.opts with the options of libraries that the service uses.
_LIBRARIES = (
    'oslo.config',
    'oslo.log',
    'oslo.db',
    'oslo.policy',
    'oslo.middleware',
    'oslo.cache',
    'keystonemiddleware.auth_token',
)
#: How similar a name must be to be taken for a misspelling.
_SIMILAR = 0.83
#: Options of sections that name a plugin depend on the plugin.
_OPEN = frozenset({'keystone_authtoken'})


def problems(conf):
    """List the sections and options that nothing reads.

    Sections of libraries may have options that are not known here, so of these only names that look misspelled are
    listed; the same goes for sections that are not known at all.

    :param conf: ConfigOpts that was made with configuration files.
    :returns: sentences.
    """
    known = _known()
    return [f'{path}: {sentence}' for path in files(conf) for sentence in known.problems(path)]


def _known():
    ours = _names(options.list_opts())
    libraries = _names(
        pair
        for point in metadata.entry_points(group='oslo.config.opts')
        if point.name in _LIBRARIES
        for pair in point.load()()
    )
    ours['DEFAULT'] |= libraries.pop('DEFAULT', set())
    return _Known(ours, libraries)


def files(conf):
    """List the paths of the configuration files that were read."""
    folders = [os.path.join(folder, '*.conf') for folder in conf.config_dir or ()]
    return [*(conf.config_file or ()), *(path for folder in folders for path in sorted(glob.glob(folder)))]


def _names(pairs):
    """Return {section: the names of its options in a file}, former names included."""
    names: dict[str, set] = {'DEFAULT': set()}
    for group, opts in pairs:
        section = getattr(group, 'name', group) or 'DEFAULT'
        for opt in opts:
            names.setdefault(section, set()).add(opt.dest)
            for former in opt.deprecated_opts:
                names.setdefault(former.group or section, set()).add(former.name or opt.dest)
    return names


class _Known:
    """What is known of sections and options.

    :param ours: {section: option names}, all there are.
    :param libraries: the same of libraries, which may have more.
    """

    def __init__(self, ours, libraries):
        self._ours = ours
        self._libraries = libraries

    def problems(self, path):
        """List what a file has that nothing reads."""
        sections: dict[str, dict] = {}
        cfg.ConfigParser(path, sections).parse()
        # A section that another one refers to may have any name.
        referred = sections.get('keystone_authtoken', {}).get('auth_section', ())
        return [
            sentence
            for section, found in sections.items()
            if section not in referred
            for sentence in self._section(section, found)
        ]

    def _section(self, section, found):
        if section in self._ours:
            return [self._option(section, name) for name in found if name not in self._ours[section]]
        if section in self._libraries:
            known = set() if section in _OPEN else self._libraries[section]
            misspelled = [name for name in found if name not in known and _similar(name, known)]
            return [self._option(section, name) for name in misspelled]
        similar = _similar(section, [*self._ours, *self._libraries])
        if similar:
            return [f'nothing reads the section [{section}]: do you mean [{similar}]?']
        return []

    def _option(self, section, name):
        known = self._ours.get(section) or self._libraries[section]
        similar = _similar(name.replace('-', '_'), known)
        if similar:
            return f'nothing reads [{section}] {name}: do you mean {similar}?'
        elsewhere = sorted(each for each, names in self._ours.items() if name in names)
        if elsewhere:
            return f'nothing reads [{section}] {name}: do you mean [{elsewhere[0]}] {name}?'
        begins = sorted(each for each in known if each.startswith(name))
        return f'nothing reads [{section}] {name}' + (f': do you mean {begins[0]}?' if begins else '')


def _similar(name, names):
    """Return the name among some that another is most likely meant to be; None for none."""
    return next(iter(difflib.get_close_matches(name, names, 1, _SIMILAR)), None)
