"""A document becomes what a service has."""

import collections
import urllib.parse
import uuid

from ironic_traits.db.types import differ
from ironic_traits.deploy.states import PROTECTABLE
from ironic_traits.transfer.documents import REASON, STATES, ident

#: What can be said of a node that is active, and so not of one that is new.
_LATER = ('protected', 'protected_reason')


class Importer:
    """Makes a service have what a document says.

    :param client: ironic_traits.client.Client.
    :param settle: function of a node's uuid and {state: value} that puts a node that is new into the states that the
        document says; None to leave it where it begins.
    :ivar counts: {(what, 'created', 'changed' or 'same'): how many}.
    """

    def __init__(self, client, settle=None):
        self._client = client
        self._settle = settle
        self._new: set[str] = set()
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()

    def bring(self, noun, item):
        """Import one of ``units`` with all that belongs to it.

        :raises ironic_traits.client.Failed: the service says no; what was said before that stays.
        """
        known = self._client.find(f'{noun.path}/{urllib.parse.quote(ident(item), safe="")}')
        # Some names are those of lists.
        self._bring(noun, item, known if known and 'uuid' in known else None, {})

    def _bring(self, noun, item, known, belongs):
        apart = {*STATES, REASON, 'traits', *(each.key for each in noun.inside)}
        wanted = {name: value for name, value in item.items() if name not in apart} | _only(noun, belongs)
        made, done = self._change(noun, known, wanted) if known else self._create(noun, item, wanted)
        if 'traits' in item and sorted(set(item['traits'])) != sorted((known or {}).get('traits', [])):
            self._client.ask('PUT', f'{noun.path}/{made}/traits', {'traits': item['traits']})
            done = 'changed' if known else done
        if item.get('maintenance') and item.get(REASON) not in (None, (known or {}).get(REASON)):
            self._client.ask('PUT', f'{noun.path}/{made}/maintenance', {'reason': item[REASON]})
            done = 'changed' if known else done
        self.counts[noun.key, done] += 1
        for each in noun.inside:
            self._bring_inside(each, item.get(each.key, ()), belongs | {noun.owns: made})

    def _bring_inside(self, noun, items, belongs):
        there = []
        # A node that is new has nothing yet.
        if items and belongs['node_uuid'] not in self._new:
            query = {'detail': 'true', 'node': belongs['node_uuid']}
            there = list(self._client.pages(noun.path, noun.page_key, query))
        for item in items:
            known = next((each for each in there if _is_same(noun, each, item)), None)
            self._bring(noun, item, known, belongs)

    def _create(self, noun, item, wanted):
        now = {name: value for name, value in wanted.items() if value is not None and name not in _LATER}
        made = self._client.ask('POST', noun.path, now)
        self._new.add(made['uuid'])
        said = {name: item[name] for name in STATES if name in item}
        if said and self._settle:
            self._settle(made['uuid'], said)
        later = {name: wanted[name] for name in _LATER if wanted.get(name)}
        if later and self._settle:
            self._client.ask('PATCH', f'{noun.path}/{made["uuid"]}', _patch(later))
        return made['uuid'], 'created'

    def _change(self, noun, known, wanted):
        wanted = {name: noun.defaults.get(name) if value is None else value for name, value in wanted.items()}
        changes = {name: value for name, value in wanted.items() if name != 'uuid' and differ(known.get(name), value)}
        if not self._settle and known.get('provision_state') not in PROTECTABLE:
            # It could not be left where the document has it.
            changes = {name: value for name, value in changes.items() if name not in _LATER}
        # What it comes to is for the service to say: it writes some things in its own way, and masks others.
        now = self._client.ask('PATCH', f'{noun.path}/{known["uuid"]}', _patch(changes)) if changes else known
        return known['uuid'], 'changed' if any(differ(now[name], known[name]) for name in changes) else 'same'


def _patch(changes):
    """Give the JSON patch that makes fields what they shall be."""
    return [
        {'op': 'remove', 'path': f'/{name}'} if value is None else {'op': 'add', 'path': f'/{name}', 'value': value}
        for name, value in changes.items()
    ]


def _is_same(noun, known, item):
    """Tell whether one thing is the other, by what such things are known by."""
    for names in noun.known_by:
        if all(item.get(name) is not None for name in names):
            return all(_as_kept(name, item[name]) == known[name] for name in names)
    return False


def _as_kept(name, value):
    """Give a value as the service has it: it writes uuids and addresses in one way."""
    if name == 'uuid':
        try:
            return str(uuid.UUID(value))
        except ValueError:
            return value
    return value.lower() if name == 'address' and isinstance(value, str) else value


def _only(noun, belongs):
    return {name: value for name, value in belongs.items() if name in noun.defaults}
