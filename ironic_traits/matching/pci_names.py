"""Names of PCI devices, from the list that the machine has."""

import functools
import pathlib
from collections.abc import Iterable, Mapping

#: Where Debian's package pci.ids, and hwdata, have the list.
FILES = ('/usr/share/misc/pci.ids', '/usr/share/hwdata/pci.ids')


def names(vendor: str, product: str) -> tuple[str, str]:
    """Return the names of a vendor and of a device, or the number of each that has no name.

    :param vendor: four hexadecimal digits.
    """
    listed = _names(FILES)
    return listed.get(vendor, vendor), listed.get(f'{vendor}:{product}', product)


@functools.cache
def _names(paths: Iterable[str]) -> Mapping[str, str]:
    """Return {vendor: name, vendor:product: name} of the first file that exists."""
    for path in map(pathlib.Path, paths):
        if path.is_file():
            return read(path.read_text('utf-8', 'replace'))
    return {}


def read(text: str) -> Mapping[str, str]:
    """Return the names in a pci.ids: the marketing name, in brackets, where there is one.

    >>> read('10de  NVIDIA Corporation\\n\\t2331  GH100 [H100 PCIe]\\n\\t\\t1028 0001  Board')
    {'10de': 'NVIDIA Corporation', '10de:2331': 'H100 PCIe'}
    """
    found, vendor = {}, ''
    for line in text.splitlines():
        if line.startswith('C '):
            break
        number, _, name = line.strip().partition('  ')
        if not name or line.startswith(('#', '\t\t')):
            continue
        if '[' in name:
            name = name.partition('[')[2].partition(']')[0] or name
        if line.startswith('\t'):
            found[f'{vendor}:{number}'] = name
        else:
            vendor = number
            found[vendor] = name
    return found
