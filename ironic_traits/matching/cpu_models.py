"""Which microarchitecture a processor has, and which features all processors of a microarchitecture have.

BMCs show no flags of processors, but signatures and names. archspec has the features of each microarchitecture, and
``cpu_models.yaml`` says which processor has which. What firmware can switch off, such as virtualization, is not here.
"""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.matching.fact_table_files import packaged


@dataclasses.dataclass(frozen=True)
class CpuModel:
    """A microarchitecture, and the signature from which it follows.

    :ivar microarchitecture: its name in archspec or in the table.
    """

    microarchitecture: str
    family: int | None = None
    model: int | None = None
    stepping: int | None = None

    @property
    def is_generic(self) -> bool:
        """Whether the microarchitecture only names an architecture."""
        return self.microarchitecture == architecture(self.microarchitecture)


def by_signature(text: str, vendor: str) -> CpuModel | None:
    """Return the model of a processor by its identification registers; None if no known processor has them.

    BMCs show EAX alone, EAX and EDX, EDX and EAX, each with or without its halves swapped or its bytes reversed, with
    dashes in it, or with text in front. Only one of these gives a known processor.

    :param vendor: ``intel``, ``amd``, or ``''`` if it is another one or unknown.
    """
    digits = re.sub('[^0-9a-f]', '', text.lower().removeprefix('0x'))
    if not 4 <= len(digits) <= 32:
        return None
    words = [digits] if len(digits) <= 8 else [digits[-16:-8], digits[-8:], digits[:8]]
    numbers = [number for word in words for number in _orders(word.rjust(8, '0'))]
    x86 = (_x86(number, each) for number in numbers for each in ((vendor,) if vendor else ('intel', 'amd')))
    arm = (_arm(number) for number in numbers if not vendor)
    return next((found for found in (*x86, *arm) if found), None)


def by_family(vendor: str, family: int, model: int, stepping: int | None = None) -> CpuModel | None:
    """Return the model of a processor by the family and the model that CPUID gives; None for an unknown one."""
    for entry in _table()['signatures']:
        models = entry['models'] if 'models' in entry else range(entry['from'], entry['to'] + 1)
        steppings = entry.get('steppings', (stepping,))
        if (entry['vendor'], entry['family']) == (vendor, family) and model in models and stepping in steppings:
            return CpuModel(entry['microarchitecture'], family, model, stepping)
    return None


def by_name(name: str) -> CpuModel | None:
    """Return the model of a processor by its name.

    >>> by_name('Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz').microarchitecture
    'icelake'
    """
    text = re.sub(r'\s+', ' ', re.sub(r'\((R|TM|C)\)', '', name[:200], flags=re.I))
    for entry in _table()['names']:
        if re.search(entry['name'], text, re.I):
            return CpuModel(entry['microarchitecture'])
    return None


@functools.cache
def flags(microarchitecture: str) -> frozenset[str]:
    """Return the flags, as Linux names them, that all processors of a microarchitecture have."""
    entries, found = _table(), set()
    for other in entries['others']:
        if other['microarchitecture'] == microarchitecture:
            found, microarchitecture = {*other.get('flags', ())}, other['like']
    target = _targets().get(microarchitecture)
    if target is None:
        return frozenset()
    lineage = (target, *target.ancestors)
    names = {each.name for each in lineage}
    more = (entry['flags'] for entry in entries['flags'] if entry['microarchitecture'] in names)
    return frozenset(found.union(*more, *(each.features for each in lineage)))


def architecture(microarchitecture: str) -> str:
    """Return the architecture, as ``uname -m`` names it; '' for an unknown microarchitecture."""
    target = _targets().get(_listed(microarchitecture))
    return str(target.family.name) if target else ''


def vendor(microarchitecture: str) -> str:
    """Return ``intel`` or ``amd``; '' for another vendor."""
    vendors = {entry['microarchitecture']: entry['vendor'] for entry in _table()['signatures']}
    return str(vendors.get(microarchitecture, ''))


@functools.cache
def _targets() -> Mapping[str, Any]:
    """Return {name: microarchitecture} of archspec; nothing without it, since only BMCs need it."""
    try:
        from archspec.cpu import TARGETS
    except ImportError:
        return {}
    return dict(TARGETS.items())


def _listed(microarchitecture: str) -> str:
    """Return the microarchitecture of archspec that is nearest."""
    likes = {other['microarchitecture']: other['like'] for other in _table()['others']}
    return str(likes.get(microarchitecture, microarchitecture))


def _table() -> Any:
    return packaged('ironic_traits.matching', 'cpu_models.yaml')


def _orders(word: str) -> Iterator[int]:
    """Yield a word as it is, with its halves swapped, and with its bytes reversed."""
    for digits in (word, word[4:] + word[:4], word[6:] + word[4:6] + word[2:4] + word[:2]):
        yield int(digits, 16)


def _x86(eax: int, vendor: str) -> CpuModel | None:
    if eax & 0xF000C000:  # reserved
        return None
    family, model = eax >> 8 & 0xF, eax >> 4 & 0xF
    if family in (6, 15):
        model |= eax >> 12 & 0xF0
    if family == 15:
        family += eax >> 20 & 0xFF
    return by_family(vendor, family, model, eax & 0xF)


def _arm(number: int) -> CpuModel | None:
    """Return the model by MIDR_EL1, or by the id of the SoC."""
    parts: Mapping[str, Any] = {entry['id']: entry['microarchitecture'] for entry in _table()['parts']}
    ids = (f'{number >> 24:02x}:{number >> 4 & 0xFFF:03x}', f'{number >> 16:04x}:{number & 0xFFFF:04x}')
    return next((CpuModel(parts[each]) for each in ids if each in parts), None)
