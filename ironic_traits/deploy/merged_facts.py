"""Facts from two sources in one document: what a ramdisk has found, and what a BMC shows.

A BMC sees less of a machine. So what a ramdisk has found stays, and the BMC adds what is missing. The BMC changes and
removes only its own facts: those in ``plugin_data.redfish``, and those in the places that are listed in it.
"""

from collections.abc import Mapping
from typing import Any

from ironic_traits.deploy.base import Facts

_OWN = 'plugin_data.redfish.'
#: What this module adds to ``plugin_data.redfish``: why parts could not be read, and the places of other facts.
_UNREAD, _PLACES = 'unread', 'places'


def merge(before: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """Return the document of a node after its BMC was read.

    :param before: the document before: {'inventory': {…}, 'plugin_data': {…}}, or {}.
    """
    old, new = _flat(before), _flat(facts.document)
    places = {*(old.get(_OWN + _PLACES) or ()), *(place for place in old if place.startswith(_OWN))}
    of_ramdisk = {place: value for place, value in old.items() if place not in places}
    earlier = {place: value for place, value in old.items() if place in places.intersection(facts.unknown)}
    of_bmc = new | earlier
    merged = {**of_bmc, **of_ramdisk}
    for place in of_bmc.keys() & of_ramdisk.keys():
        if isinstance(of_bmc[place], Mapping) and isinstance(of_ramdisk[place], Mapping):
            merged[place] = {**of_bmc[place], **of_ramdisk[place]}
    own = sorted(place for place in of_bmc.keys() - of_ramdisk.keys() if not place.startswith(_OWN))
    return _nested(merged | {_OWN + _UNREAD: facts.unread, _OWN + _PLACES: own})


def unread(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return {part: why the BMC could not show it} of a document."""
    found = _flat(document).get(_OWN + _UNREAD)
    return found if isinstance(found, Mapping) else {}


def with_earlier(document: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document that a ramdisk has sent, with what only a BMC shows, from the document before."""
    facts = {place: value for place, value in _flat(before).items() if place.startswith(_OWN)}
    return _nested(_flat(document) | facts | ({_OWN + _PLACES: []} if facts else {}))


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return {place: value}, as ``inventory.cpu`` and ``plugin_data.redfish.bios``."""
    flat: dict[str, Any] = {}
    for section, values in document.items():
        for key, value in values.items():
            if f'{section}.{key}.' == _OWN and isinstance(value, Mapping):
                flat |= {_OWN + name: each for name, each in value.items()}
            else:
                flat[f'{section}.{key}'] = value
    return flat


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {'inventory': {}, 'plugin_data': {}}
    for place, value in flat.items():
        section, _, key = place.partition('.')
        if place.startswith(_OWN):
            document['plugin_data'].setdefault('redfish', {})[place.removeprefix(_OWN)] = value
        else:
            document[section][key] = value
    return document
