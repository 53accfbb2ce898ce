"""Facts from two sources in one document: what a ramdisk has found, and what a BMC shows.

A BMC sees less of a machine. So what a ramdisk has found stays, and the BMC adds what is missing. The BMC changes and
removes only its own facts: those in ``plugin_data.redfish``, and those in the places that are listed in it.
"""

from collections.abc import Mapping
from typing import Any

from ironic_traits.deploy.base import Facts

#: Where a fact is: ('inventory', 'cpu', 'count'), ('inventory', 'disks'), ('plugin_data', 'redfish', 'bios').
Place = tuple[str, ...]

_OWN = ('plugin_data', 'redfish')
#: What this module adds: why parts could not be read, and where else the BMC has facts.
_UNREAD, _PLACES = (*_OWN, 'unread'), (*_OWN, 'places')


def merge(before: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """Return the document of a node after its BMC was read.

    :param before: the document before: {'inventory': {…}, 'plugin_data': {…}}, or {}.
    """
    old, new = _flat(before), _flat(facts.document)
    listed = old.get(_PLACES)
    places = {place for place in old if place[:2] == _OWN or (isinstance(listed, list) and _text(place) in listed)}
    of_ramdisk = {place: value for place, value in old.items() if place not in places}
    earlier = {place: value for place, value in old.items() if place in places and _is_unknown(place, facts)}
    of_bmc = new | {place: _combined(new.get(place), value) for place, value in earlier.items()}
    own = sorted(_text(place) for place in of_bmc.keys() - of_ramdisk.keys() if place[:2] != _OWN)
    return _nested({**of_bmc, **of_ramdisk, _UNREAD: facts.unread, _PLACES: own})


def unread(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return {part: why the BMC could not show it} of a document."""
    found = _flat(document).get(_UNREAD)
    return found if isinstance(found, Mapping) else {}


def with_earlier(document: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document that a ramdisk has sent, with what only a BMC shows, from the document before."""
    own = (before.get('plugin_data') or {}).get('redfish')
    if not isinstance(own, Mapping):
        return dict(document)
    return {**document, 'plugin_data': {**document['plugin_data'], 'redfish': {**own, 'places': []}}}


def _is_unknown(place: Place, facts: Facts) -> bool:
    return _text(place[:2]) in facts.unknown or _text(place) in facts.unknown


def _combined(new: Any, earlier: Any) -> Any:
    """Return a fact of which the BMC has shown a part, with what it has shown earlier."""
    if isinstance(new, list) and isinstance(earlier, list):
        names = [_name(each) for each in new]
        return new + [each for each in earlier if _name(each) not in names]
    if isinstance(new, Mapping) and isinstance(earlier, Mapping):
        return {**earlier, **new}
    return new or earlier


def _name(item: Any) -> Any:
    """Return what identifies an item of a list."""
    return (item.get('name') or item.get('mac_address') or item) if isinstance(item, Mapping) else item


def _text(place: Place) -> str:
    return '.'.join(place)


def _flat(document: Mapping[str, Any]) -> dict[Place, Any]:
    """Return {place: value}. Objects in the inventory have a place for each key."""
    flat: dict[Place, Any] = {}
    for section, values in document.items():
        for key, value in values.items():
            place = (section, key)
            if isinstance(value, Mapping) and (section == 'inventory' or place == _OWN):
                flat |= {(*place, name): each for name, each in value.items()}
            elif place != _OWN:
                flat[place] = value
    return flat


def _nested(flat: Mapping[Place, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {'inventory': {}, 'plugin_data': {}}
    for (section, key, *name), value in sorted(flat.items(), key=lambda item: len(item[0])):
        if name:
            inside = document[section].get(key)
            document[section][key] = {**inside, name[0]: value} if isinstance(inside, dict) else {name[0]: value}
        else:
            document[section][key] = value
    return document
