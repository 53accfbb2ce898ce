"""A document becomes what a service has."""

import collections
import urllib.parse
import uuid

from ironic_traits.db.types import differ
from ironic_traits.deploy.states import PROTECTABLE
from ironic_traits.transfer import differences
from ironic_traits.transfer.documents import REASON, STATES, ident

#: What can be said of a node that is active, and so not of one that is new.
_LATER = ('protected', 'protected_reason')


class Importer:
    """Makes a service have what a document says.

    :param client: ironic_traits.client.Client.
    :param settle: function of a node's uuid and {state: value} that puts a node that is new into the states that the
        document says; None to leave it where it begins.
    :ivar counts: {(what, 'created', 'changed' or 'same'): how many}.
    :ivar changes: a line for each thing that was created, and for each field and trait that was changed.
    :ivar warnings: what the document says and was not done, sentences.
    """

    def __init__(self, client, settle=None):
        self._client = client
        self._settle = settle
        self._new: set[str] = set()
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.changes: list[str] = []
        self.warnings: list[str] = []

    def bring(self, noun, item):
        """Import one of ``units`` with all that belongs to it.

        :raises ironic_traits.client.Failed: the service says no; what was said before that stays.
        """
        known = self._client.find(path(noun, item))
        # Some names are those of lists.
        self._bring(noun, item, known if known and 'uuid' in known else None, {}, None)

    def _bring(self, noun, item, known, belongs, of):
        what = differences.label(noun, item, of)
        wanted = _fields(noun, item) | _only(noun, belongs)
        made, done = self._change(noun, known, wanted, what) if known else self._create(noun, item, wanted)
        if known:
            self._warn_of_state(item, known, what)
        else:
            self.changes.append(f'+ {what}')
        if 'traits' in item and sorted(set(item['traits'])) != sorted((known or {}).get('traits', [])):
            self._client.ask('PUT', f'{noun.path}/{made}/traits', {'traits': item['traits']})
            self.changes += differences.traits(what, known['traits'], item['traits']) if known else ()
            done = 'changed' if known else done
        if item.get('maintenance') and item.get(REASON) not in (None, (known or {}).get(REASON)):
            self._client.ask('PUT', f'{noun.path}/{made}/maintenance', {'reason': item[REASON]})
            self.changes += differences.fields(what, known, item, [REASON]) if known else ()
            done = 'changed' if known else done
        self.counts[noun.key, done] += 1
        for each in noun.inside:
            self._bring_inside(each, item.get(each.key, ()), belongs | {noun.owns: made}, of or what)

    def _bring_inside(self, noun, items, belongs, of):
        there = []
        # A node that is new has nothing yet.
        if items and belongs['node_uuid'] not in self._new:
            query = {'detail': 'true', 'node': belongs['node_uuid']}
            there = list(self._client.pages(noun.path, noun.page_key, query))
        for item in items:
            known = next((each for each in there if _is_same(noun, each, item)), None)
            self._bring(noun, item, known, belongs, of)

    def _warn_of_state(self, item, known, what):
        """Warn of a state that only a new node would get."""
        state = item.get('provision_state')
        if state not in (None, known.get('provision_state')):
            self.warnings.append(
                f"{what} stays in '{known['provision_state']}': the document's provision_state '{state}' is for new "
                'nodes only.'
            )

    def _create(self, noun, item, wanted):
        now, later = split(noun, wanted)
        made = self._client.ask('POST', noun.path, now)
        self._new.add(made['uuid'])
        said = {name: item[name] for name in STATES if name in item}
        if said and self._settle:
            self._settle(made['uuid'], said)
        if later and self._settle:
            self._client.ask('PATCH', f'{noun.path}/{made["uuid"]}', _patch(later))
        return made['uuid'], 'created'

    def _change(self, noun, known, wanted, what):
        wanted = {name: noun.defaults.get(name) if value is None else value for name, value in wanted.items()}
        changes = {name: value for name, value in wanted.items() if name != 'uuid' and differ(known.get(name), value)}
        if not self._settle and known.get('provision_state') not in PROTECTABLE:
            # It could not be left where the document has it.
            changes = {name: value for name, value in changes.items() if name not in _LATER}
        # What it comes to is for the service to say: it writes some things in its own way, and masks others.
        now = self._client.ask('PATCH', f'{noun.path}/{known["uuid"]}', _patch(changes)) if changes else known
        self.changes += differences.fields(what, known, now, changes)
        return known['uuid'], 'changed' if any(differ(now[name], known[name]) for name in changes) else 'same'


def path(noun, item):
    """Return where the service has an item, if it has it."""
    return f'{noun.path}/{urllib.parse.quote(ident(item), safe="")}'


def split(noun, item):
    """Return what can be said of something that is new, and what can be said only when it is there: two dicts."""
    fields = {name: value for name, value in _fields(noun, item).items() if value is not None}
    later = {name: fields.pop(name) for name in _LATER if name in fields}
    return fields, {name: value for name, value in later.items() if value}


def _fields(noun, item):
    """Return the fields of an item that are set by requests about the item itself."""
    apart = {*STATES, REASON, 'traits', *(each.key for each in noun.inside)}
    return {name: value for name, value in item.items() if name not in apart}


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
