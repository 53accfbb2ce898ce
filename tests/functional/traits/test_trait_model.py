"""A model of the sources, vetoes and history of a node's traits, compared with the service.

IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

import sqlalchemy as sa
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.db import tables
from tests.conftest import empty
from tests.support import machines
from tests.support.client import Client
from tests.support.providers import golden, provider, put_traits

DATABASES = machines.DATABASES
NAMES = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'COMPUTE_NODE']
TRAIT = st.sampled_from(NAMES)
TRAITS = st.sets(TRAIT)
#: None for a plain write.
SOURCE = st.sampled_from([None, 'operator', 'hook', 'cmdb'])
LIMIT = 3


class Sourced(stateful.RuleBasedStateMachine):
    """Predicts the traits of a node, their holders, and the vetoes.

    :cvar app: the application.
    """

    app = None

    def __init__(self):
        super().__init__()
        self.client = Client(self.app)
        self.node = golden(self.client)
        #: {trait: {source, …}}, never empty sets.
        self.holders = {}
        self.vetoes, self.foreign = set(), set()
        self.seen = provider(self.client, self.node)
        self.entries = self.count_entries()
        #: {time of an entry: the traits of the node after it}.
        self.past = {}

    def count_entries(self):
        statement = sa.select(sa.func.count()).where(
            tables.node_history.c.node_uuid == self.node, tables.node_history.c.event_type == 'trait'
        )
        with self.app.service.read() as connection:
            return connection.scalar(statement)

    def ask(self, method, path, source, document=None):
        query = f'?source={source}' if source else ''
        return self.client.ask(method, f'/v1/nodes/{self.node}/traits{path}{query}', document)

    def expect(self, holders, vetoes):
        """Compare the service with the model after a write that results in these holders and vetoes."""
        holders = {name: sources for name, sources in holders.items() if sources}
        changes = (holders, vetoes) != (self.holders, self.vetoes)
        self.foreign -= holders.keys()
        self.holders, self.vetoes = holders, vetoes
        count = self.count_entries()
        assert count == self.entries + changes
        self.entries = count
        if changes:
            listed = self.client.get(f'/v1/history?node={self.node}&event_type=trait&sort_dir=desc&limit=1')
            self.past[listed['history'][0]['created_at']] = sorted(holders)

    def copy(self):
        return {name: set(sources) for name, sources in self.holders.items()}, set(self.vetoes)

    @stateful.rule(names=TRAITS, source=SOURCE)
    def replace(self, names, source):
        holders, vetoes = self.copy()
        allowed = names if source in (None, 'operator') else names - vetoes
        for name in list(holders):
            if name not in names:
                if source is None:
                    vetoes |= {name} if holders[name] - {'operator'} else set()
                    holders[name] = set()
                else:
                    holders[name].discard(source)
        for name in allowed:
            holders.setdefault(name, set()).add(source or 'operator')
            vetoes.discard(name)
        response = self.ask('PUT', '', source, {'traits': sorted(names)})
        effective = sorted(name for name in holders if holders[name])
        if len(effective) > LIMIT and set(effective) - self.holders.keys():
            assert (response.status_int, response.json['code']) == (400, 'baremetal.trait.too_many')
            return
        assert response.status_int == 200, response.text
        assert response.json['traits'] == effective
        if source:
            assert response.json['vetoed'] == sorted(names - allowed)
        self.expect(holders, vetoes)

    @stateful.rule(name=TRAIT, source=SOURCE)
    def add(self, name, source):
        holders, vetoes = self.copy()
        response = self.ask('PUT', f'/{name}', source)
        if name in vetoes and source not in (None, 'operator'):
            assert (response.status_int, response.json['code']) == (409, 'baremetal.trait.vetoed')
        elif name not in holders and len(holders) == LIMIT:
            assert (response.status_int, response.json['code']) == (400, 'baremetal.trait.too_many')
        else:
            assert response.status_int == 204, response.text
            holders.setdefault(name, set()).add(source or 'operator')
            vetoes.discard(name)
        self.expect(holders, vetoes)

    @stateful.rule(name=TRAIT, source=SOURCE)
    def remove(self, name, source):
        holders, vetoes = self.copy()
        response = self.ask('DELETE', f'/{name}', source)
        if name not in holders:
            assert (response.status_int, response.json['code']) == (404, 'baremetal.trait.not_found')
        elif source and source not in holders[name]:
            assert (response.status_int, response.json['code']) == (404, 'baremetal.trait.not_held')
        else:
            assert response.status_int == 204, response.text
            if source is None:
                vetoes |= {name} if holders[name] - {'operator'} else set()
                del holders[name]
            else:
                holders[name].discard(source)
        self.expect(holders, vetoes)

    @stateful.rule(source=SOURCE)
    def remove_all(self, source):
        holders, vetoes = self.copy()
        response = self.ask('DELETE', '', source)
        if source and not any(source in sources for sources in holders.values()):
            assert (response.status_int, response.json['code']) == (404, 'baremetal.trait.source_not_found')
        else:
            assert response.status_int == 204, response.text
            for name, sources in holders.items():
                if source is None:
                    vetoes |= {name} if sources - {'operator'} else set()
                holders[name] = set() if source is None else sources - {source}
        self.expect(holders, vetoes)

    @stateful.rule(name=TRAIT)
    def lift(self, name):
        holders, vetoes = self.copy()
        response = self.ask('DELETE', f'/{name}/veto', None)
        assert response.status_int == (204 if name in vetoes else 404), response.text
        self.expect(holders, vetoes - {name})

    def edit(self, holders, vetoes, **edit):
        """Preview and execute a bulk edit of the one node that results in these holders and vetoes."""
        body = {'nodes': [self.node], **edit}
        preview = self.client.ask('POST', '/v1/traits/edits', {**body, 'preview': True})
        assert preview.status_int == 200, preview.text
        effective = {name for name, sources in holders.items() if sources}
        assert set(preview.json['gains']) == effective - self.holders.keys()
        assert set(preview.json['loses']) == self.holders.keys() - effective
        response = self.client.ask('POST', '/v1/traits/edits', {**body, 'digest': preview.json['digest']})
        if len(effective) > LIMIT and effective - self.holders.keys():
            assert (response.status_int, response.json['code']) == (400, 'baremetal.trait.too_many')
            holders, vetoes = self.copy()
        else:
            assert response.status_int == 200, response.text
        self.expect(holders, vetoes)

    @stateful.rule(new=TRAITS, gone=TRAITS, source=SOURCE)
    def edit_many(self, new, gone, source):
        gone -= new
        if not new | gone:
            return
        holders, vetoes = self.copy()
        for name in gone & holders.keys():
            if source is None:
                vetoes |= {name} if holders[name] - {'operator'} else set()
                holders[name] = set()
            else:
                holders[name].discard(source)
        for name in new if source in (None, 'operator') else new - vetoes:
            holders.setdefault(name, set()).add(source or 'operator')
            vetoes.discard(name)
        edit = {'add': sorted(new), 'remove': sorted(gone), 'source': source}
        self.edit(holders, vetoes, **{key: value for key, value in edit.items() if value})

    @stateful.rule(old=TRAIT, new=TRAIT)
    def rename(self, old, new):
        if old == new:
            return
        holders, vetoes = self.copy()
        if old in holders:
            holders.setdefault(new, set()).update(holders.pop(old))
        if old in vetoes:
            vetoes = vetoes - {old} | {new}
        self.edit(holders, vetoes - holders.keys(), rename={old: new})

    @stateful.rule(names=TRAITS)
    def traits_of_others(self, names):
        """Set the traits of the node's provider, as nova does."""
        for name in names:
            self.client.placement('PUT', f'/traits/{name}')
        put_traits(self.client, self.node, sorted(names))
        self.foreign = {name for name in names - self.holders.keys() if not name.startswith('CUSTOM_')}

    @stateful.invariant()
    def look(self):
        assert self.ask('GET', '', None).json == {'traits': sorted(self.holders)}
        shown = self.client.get(f'/v1/nodes/{self.node}/traits?detail=true')
        sources = {each['trait']: {hold['source'] for hold in each['sources']} for each in shown['traits']}
        assert sources == {**{name: {'placement'} for name in self.foreign}, **self.holders}
        assert {each['trait'] for each in shown['traits'] if each['vetoed']} == self.vetoes & self.foreign
        assert [each['trait'] for each in shown['vetoes']] == sorted(self.vetoes)
        for source in 'operator', 'hook', 'cmdb':
            listed = self.client.get(f'/v1/nodes?fields=uuid&trait-source={source}')['nodes']
            assert bool(listed) == any(source in each for each in self.holders.values())

    @stateful.invariant()
    def provider_follows(self):
        before, self.seen = self.seen, provider(self.client, self.node)
        assert self.seen[1]['traits']['traits'] == sorted(self.holders.keys() | self.foreign)
        assert self.seen[0] == before[0] + (before[1] != self.seen[1])

    def teardown(self):
        for moment, traits in self.past.items():
            assert self.client.get(f'/v1/nodes/{self.node}/traits?at={moment}') == {'traits': traits}
        empty(self.app.service.database.url.render_as_string(hide_password=False))


def test_model(app):
    """Run the model."""

    class OnThisDatabase(Sourced):
        pass

    app.service.conf.set_override('max_traits_per_node', LIMIT, group='inventory')
    OnThisDatabase.app = app
    machines.run(OnThisDatabase, examples=15, steps=25)
