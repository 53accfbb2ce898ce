"""A model of bulk edits whose nodes change between the preview and the execution.

IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

import collections
import dataclasses

from hypothesis import stateful
from hypothesis import strategies as st

from tests.support import machines
from tests.support.service import finish_work, make_app
from tests.support.trait_edits import PATH

DATABASES = machines.DATABASES
UUIDS = [f'aaaaaaaa-0000-4000-8000-{number:012}' for number in range(4)]
TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D']
NODE = st.sampled_from(UUIDS)
NAMES = st.sets(st.sampled_from(TRAITS), max_size=3)
#: None for a plain write.
SOURCE = st.sampled_from([None, 'operator', 'hook', 'cmdb'])
LIMIT = 3


@dataclasses.dataclass
class Node:
    """What is stored of the traits of a node.

    :ivar holders: {trait: {source, …}}, never empty sets.
    :ivar is_locked: whether a worker works on it.
    """

    holders: dict = dataclasses.field(default_factory=dict)
    vetoes: set = dataclasses.field(default_factory=set)
    maintenance: bool = False
    is_locked: bool = False

    def written(self, add=(), remove=(), rename=None, source=None):
        """Return the node after a write, and the traits that are vetoed."""
        holders, rename = collections.defaultdict(set), rename or {}
        for name, sources in self.holders.items():
            holders[rename.get(name, name)] |= sources
        vetoes = {rename.get(name, name) for name in self.vetoes} - holders.keys()
        for name in set(remove) & holders.keys():
            if source is None and holders[name] - {'operator'}:
                vetoes.add(name)
            holders[name] = holders[name] - {source} if source else set()
        refused = set() if source in (None, 'operator') else set(add) & vetoes
        for name in set(add) - refused:
            holders[name].add(source or 'operator')
            vetoes.discard(name)
        kept = {name: sources for name, sources in holders.items() if sources}
        return dataclasses.replace(self, holders=kept, vetoes=vetoes), refused

    def exceeds(self, before):
        """Whether a write that results in this node is refused."""
        return len(self.holders) > LIMIT and bool(self.holders.keys() - before.holders.keys())


#: {filters: function that tells whether a node passes them}.
FILTERS = {
    (): lambda node: True,
    ('traits', 'CUSTOM_A'): lambda node: 'CUSTOM_A' in node.holders,
    ('not-traits-any', 'CUSTOM_A,CUSTOM_B'): lambda node: not node.holders.keys() & {'CUSTOM_A', 'CUSTOM_B'},
    ('maintenance', True): lambda node: node.maintenance,
    ('trait-source', 'hook'): lambda node: any('hook' in sources for sources in node.holders.values()),
}

WHERE = st.sampled_from(list(FILTERS)) | st.lists(NODE, min_size=1, max_size=3, unique=True).map(tuple)


def valid(add, remove, rename, source):
    """Return the body of an edit that does not contradict itself."""
    rename = {} if source else {old: new for old, new in rename.items() if old != new}
    renamed = rename.keys() | set(rename.values())
    edit = {'add': sorted(add - renamed), 'remove': sorted(remove - add - renamed), 'rename': rename}
    return {name: value for name, value in (edit | {'source': source}).items() if value}


RENAME = st.dictionaries(st.sampled_from(TRAITS), st.sampled_from(TRAITS), max_size=2)
EDIT = st.builds(valid, NAMES, NAMES, RENAME, SOURCE).filter(lambda edit: edit.keys() - {'source'})


@dataclasses.dataclass
class Preview:
    """A preview that was not executed yet.

    :ivar where: the key in FILTERS, or a tuple of uuids.
    :ivar before: what its digest stands for.
    """

    edit: dict
    where: tuple
    digest: str
    before: list | None

    @property
    def body(self):
        if self.where in FILTERS:
            return self.edit | {'where': dict([self.where] if self.where else [])}
        return self.edit | {'nodes': list(self.where)}


class Edited(machines.OnApps):
    """Predicts the traits of nodes, and which digests are still good."""

    def __init__(self):
        super().__init__()
        #: {uuid: Node}, in the order of their creation.
        self.nodes = {}
        self.previews = []
        for uuid in UUIDS[:3]:
            self.create_or_delete(uuid)

    @stateful.rule(uuid=NODE)
    def create_or_delete(self, uuid):
        if node := self.nodes.get(uuid):
            response = self.client.ask('DELETE', f'/v1/nodes/{uuid}')
            assert response.status_int == (409 if node.is_locked else 204), response.text
            if response.status_int == 204:
                del self.nodes[uuid]
            return
        self.client.node(uuid=uuid)
        self.nodes[uuid] = Node()

    @stateful.rule(uuid=NODE)
    def lock(self, uuid):
        """Begin work on a node, or finish all of it."""
        if any(node.is_locked for node in self.nodes.values()):
            finish_work(self.apps[0])
            self.nodes = {each: dataclasses.replace(node, is_locked=False) for each, node in self.nodes.items()}
        elif uuid in self.nodes:
            response = self.client.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'power on'})
            assert response.status_int == 202, response.text
            self.nodes[uuid].is_locked = True

    @stateful.rule(uuid=NODE)
    def maintain(self, uuid):
        node = self.nodes.get(uuid)
        if node and not node.is_locked:
            method = 'DELETE' if node.maintenance else 'PUT'
            assert self.client.ask(method, f'/v1/nodes/{uuid}/maintenance').status_int == 202
            node.maintenance = not node.maintenance

    @stateful.rule(uuid=NODE, number=st.integers(0, 2))
    def lift(self, uuid, number):
        node = self.nodes.get(uuid)
        if node and node.vetoes and not node.is_locked:
            name = sorted(node.vetoes)[number % len(node.vetoes)]
            assert self.client.ask('DELETE', f'/v1/nodes/{uuid}/traits/{name}/veto').status_int == 204
            self.nodes[uuid] = dataclasses.replace(node, vetoes=node.vetoes - {name})

    @stateful.rule(writes=st.lists(st.tuples(NODE, NAMES, SOURCE), min_size=1, max_size=4))
    def write_several(self, writes):
        for each in writes:
            self.write(*each)

    def write(self, uuid, names, source):
        """Set the traits of one node."""
        if uuid not in self.nodes:
            return
        node = self.nodes[uuid]
        gone = {name for name, sources in node.holders.items() if source is None or source in sources} - names
        after, _ = node.written(names, gone, source=source)
        query = f'?source={source}' if source else ''
        response = self.client.ask('PUT', f'/v1/nodes/{uuid}/traits{query}', {'traits': sorted(names)})
        assert response.status_int == (409 if node.is_locked else 400 if after.exceeds(node) else 200), response.text
        if response.status_int == 200:
            self.nodes[uuid] = after

    def selected(self, where):
        """Return the selected nodes in the order of their creation; None if one of them does not exist."""
        if where not in FILTERS and not self.nodes.keys() >= set(where):
            return None
        return {
            uuid: node
            for uuid, node in self.nodes.items()
            if (FILTERS[where](node) if where in FILTERS else uuid in where)
        }

    def covered(self, where):
        """Return what a digest stands for."""
        return [(uuid, node.holders, node.vetoes) for uuid, node in self.selected(where).items()]

    @stateful.rule(edit=EDIT, where=WHERE, at_once=st.booleans())
    def preview(self, edit, where, at_once):
        preview = Preview(edit, where, '', None)
        self.previews.append(preview)
        self.check(preview)
        if at_once and preview in self.previews:
            self.execute(0)

    def check(self, preview):
        """Compare a preview with the model, and keep its digest."""
        selected = self.selected(preview.where)
        response = self.client.ask('POST', f'{PATH}?limit=1', preview.body | {'preview': True})
        assert response.status_int == (404 if selected is None else 200), response.text
        if selected is None:
            self.previews.remove(preview)
            return
        document = response.json
        results = {uuid: node.written(**preview.edit) for uuid, node in selected.items()}
        shown = document['nodes']
        while 'next' in document:
            response = self.client.ask(
                'POST', document['next'].partition('localhost')[2], preview.body | {'preview': True}
            )
            assert response.json['digest'] == document['digest']
            document = response.json
            shown += document['nodes']
        preview.digest, preview.before = document['digest'], self.covered(preview.where)
        assert [each['uuid'] for each in shown] == [
            uuid for uuid, (node, refused) in results.items() if refused or node != selected[uuid]
        ]
        exceeding = [uuid for uuid, (node, _) in results.items() if node.exceeds(selected[uuid])]
        assert [each['uuid'] for each in document['exceeding_nodes']] == exceeding
        locked = self.locked(selected, results)
        assert (document['exceeding'], document['locked']) == (len(exceeding), len(locked))
        self.compare(document, selected, results)

    def locked(self, selected, results):
        return [uuid for uuid, (node, _) in results.items() if node.is_locked and node != selected[uuid]]

    def compare(self, document, before, results):
        """Compare the figures of a document."""
        gains, loses, vetoed = collections.Counter(), collections.Counter(), collections.Counter()
        for uuid, (node, refused) in results.items():
            gains.update(node.holders.keys() - before[uuid].holders.keys())
            loses.update(before[uuid].holders.keys() - node.holders.keys())
            vetoed.update(refused)
        assert (document['gains'], document['loses'], document['vetoed']) == (gains, loses, vetoed)
        changed = sum(node != before[uuid] for uuid, (node, _) in results.items())
        assert (document['matched'], document['changed']) == (len(before), changed)

    def outcome(self, preview, selected, results):
        """Return the status of the execution, or the code of its failure."""
        if self.locked(selected, results):
            return 'baremetal.node.locked'
        if self.covered(preview.where) != preview.before:
            return 'baremetal.trait.edit_outdated'
        exceeds = any(node.exceeds(selected[uuid]) for uuid, (node, _) in results.items())
        return 'baremetal.trait.too_many' if exceeds else 200

    @stateful.precondition(lambda self: self.previews)
    @stateful.rule(number=st.integers(0, 5))
    def execute(self, number):
        preview = self.previews[-1 - number % len(self.previews)]
        token, entries = self.client.get('/v1/changes')['token'], self.entries()
        response = self.client.ask('POST', PATH, preview.body | {'digest': preview.digest})
        selected, written = self.selected(preview.where), set()
        if selected is None:
            assert response.status_int == 404, response.text
        else:
            results = {uuid: node.written(**preview.edit) for uuid, node in selected.items()}
            outcome = response.json.get('code', response.status_int)
            assert outcome == self.outcome(preview, selected, results), response.text
            if outcome == 200:
                self.compare(response.json, selected, results)
                written = selected.keys()
                entries.update(uuid for uuid, (node, _) in results.items() if node != selected[uuid])
                self.nodes |= {uuid: node for uuid, (node, _) in results.items()}
            elif outcome == 'baremetal.trait.edit_outdated':
                self.check(preview)
                assert response.json['digest'] == preview.digest
        assert {each['uuid'] for each in self.client.get(f'/v1/changes?since={token}')['changes']} == written
        assert self.entries() == entries

    def entries(self):
        """Return the number of history entries about traits of each node that exists."""
        listed = self.client.get('/v1/history?event_type=trait&limit=1000')
        assert 'next' not in listed
        return collections.Counter(each['node_uuid'] for each in listed['history'])

    @stateful.invariant()
    def look(self):
        listed = self.client.get('/v1/nodes?fields=uuid,trait_sources')['nodes']
        assert [each['uuid'] for each in listed] == list(self.nodes)
        for each in listed:
            shown = self.client.get(f'/v1/nodes/{each["uuid"]}/traits?detail=true')
            holders = {trait['trait']: {hold['source'] for hold in trait['sources']} for trait in shown['traits']}
            assert holders == self.nodes[each['uuid']].holders
            assert {veto['trait'] for veto in shown['vetoes']} == self.nodes[each['uuid']].vetoes


def test_model(database_url):
    """Run the model."""
    # A locked node stays locked until the next step, so waiting for it is useless.
    options = {'deploy__node_locked_retry_attempts': 0, 'inventory__max_traits_per_node': LIMIT}
    with make_app(database_url, **options) as first, make_app(database_url, **options) as second:
        machines.run(Edited, 2, 20, first, second)
