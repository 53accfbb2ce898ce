"""Indicators: LEDs that show where a machine, its chassis or one of its drives is."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.redfish.bmcs import Bmc
from ironic_traits.redfish.trees import Reader, Unreadable, inner, objects, text

#: {state of Ironic: IndicatorLED}.
_LEDS = {'blinking': 'Blinking', 'off': 'Off', 'on': 'Lit'}
#: {state of Ironic: LocationIndicatorActive}. Newer BMCs have it instead.
_LOCATIONS = {'off': False, 'on': True}
_UNUSABLE = re.compile(r'[^\w.:-]', re.ASCII)


@dataclasses.dataclass(frozen=True)
class Indicator:
    """An indicator.

    :ivar path: of the document that has it.
    :ivar name: of its property.
    :ivar state: on, off, blinking or unknown.
    :ivar values: {state that it can be set to: value of the property}.
    """

    path: str
    name: str
    state: str
    values: Mapping[str, Any]


def listed(bmc: Bmc, component: str | None = None) -> dict[str, dict[str, Indicator]]:
    """Return the indicators of a machine: {component: {name: Indicator}}. What cannot be read has none.

    :param component: the only component that is wanted; None for all.
    :raises Failure: the BMC does not show its System.
    """
    reader, system = Reader(bmc), bmc.document()
    readers = {'chassis': _chassis, 'system': _system, 'disk': _drives}
    found = {
        kind: _named(_indicators(members(reader, bmc.system, system)))
        for kind, members in readers.items()
        if component in (None, kind)
    }
    return {kind: indicators for kind, indicators in found.items() if indicators}


#: The name, the path and the document of what may have an indicator.
_Members = Iterator[tuple[str, str, Mapping[str, Any]]]


def _system(reader: Reader, path: str, system: Mapping[str, Any]) -> _Members:
    yield text(system, 'UUID', 'Id'), path, system


def _chassis(reader: Reader, path: str, system: Mapping[str, Any]) -> _Members:
    for each, document in reader.each(inner(system, 'Links').get('Chassis')):
        yield text(document, 'UUID', 'Id'), each, document


def _drives(reader: Reader, path: str, system: Mapping[str, Any]) -> _Members:
    try:
        storages = list(reader.members(system, 'Storage'))
    except Unreadable:
        return
    for _, storage in storages:
        for each, document in reader.each(objects(storage.get('Drives'))):
            yield f'{text(storage, "Id")}:{text(document, "Id")}', each, document


def _named(found: Iterator[tuple[str, Indicator]]) -> dict[str, Indicator]:
    """Return indicators by their names. Several with a name get the ends of their paths, too."""
    pairs = list(found)
    number = Counter(name for name, _ in pairs)
    return {
        _UNUSABLE.sub('_', name if number[name] == 1 else f'{name}_{each.path.rstrip("/").rpartition("/")[2]}'): each
        for name, each in pairs
    }


def _indicators(members: _Members) -> Iterator[tuple[str, Indicator]]:
    """Yield the indicators of members with their names."""
    for name, path, document in members:
        led, location = text(document, 'IndicatorLED'), document.get('LocationIndicatorActive')
        if led in _LEDS.values():
            state = next(key for key, value in _LEDS.items() if value == led)
            found = Indicator(path, 'IndicatorLED', state, _LEDS)
        elif isinstance(location, bool):
            found = Indicator(path, 'LocationIndicatorActive', 'on' if location else 'off', _LOCATIONS)
        elif document.get('IndicatorLED') == 'Unknown':
            found = Indicator(path, 'IndicatorLED', 'unknown', _LEDS)
        else:
            continue
        yield name, found
