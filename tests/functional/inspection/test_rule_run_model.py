"""A model of the traits that inspection rules hold on a node, compared with the service.

IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

from hypothesis import stateful
from hypothesis import strategies as st

from tests.conftest import empty
from tests.support import machines
from tests.support.client import Client
from tests.support.providers import golden, provider
from tests.support.rule_runs import has_flag, history, rule, sources, store_rules

DATABASES = machines.DATABASES
FLAGS = ['x1', 'x2', 'x3']
NAMES = ['CUSTOM_A', 'CUSTOM_B', 'COMPUTE_NODE']
TRAIT = st.sampled_from(NAMES)
#: Each rule adds a trait if there is a flag, and may expect another flag.
RULES = st.dictionaries(
    st.sampled_from(['r1', 'r2', 'r3', 'r4']),
    st.tuples(st.sampled_from(FLAGS), TRAIT, st.integers(0, 1), st.none() | st.sampled_from(FLAGS)),
)


def documents(rules):
    """Return the documents of rules."""
    for name, (flag, trait, priority, expected) in rules.items():
        actions = [('add-trait', {'name': trait})]
        if expected:
            actions.append(('expect', {'conditions': has_flag(expected)}))
        yield rule(name, *actions, conditions=has_flag(flag), priority=priority)


class Runs(stateful.RuleBasedStateMachine):
    """Predicts the holders of a node's traits, and the expectations that the node does not meet.

    :cvar app: the application.
    """

    app = None

    def __init__(self):
        super().__init__()
        self.client = Client(self.app)
        self.node = golden(self.client)
        store_rules(self.app)
        self.rules, self.flags = {}, None
        self.holders, self.vetoes, self.unmet = {}, set(), set()
        self.entries = 0
        self.seen = provider(self.client, self.node)

    def written(self, holders, vetoes, unmet):
        """Expect the result of a write, and one history entry if it changed the traits."""
        holders = {trait: held for trait, held in holders.items() if held}
        self.entries += (holders, vetoes) != (self.holders, self.vetoes)
        self.holders, self.vetoes, self.unmet = holders, vetoes, unmet
        assert sum(source is not None for _, source, _ in history(self.client, self.node)) == self.entries

    def ran(self):
        """Compare the service with the model after a run of the rules."""
        holders = {
            trait: {source for source in held if not source.startswith('rule:')} for trait, held in self.holders.items()
        }
        unmet = set()
        for name, (flag, trait, _, expected) in self.rules.items():
            if flag in self.flags:
                if trait not in self.vetoes:
                    holders.setdefault(trait, set()).add(f'rule:{name}')
                unmet |= {name} if expected and expected not in self.flags else set()
        self.written(holders, self.vetoes, unmet)

    @stateful.rule(rules=RULES)
    def change_rules(self, rules):
        """Change the rules. Nothing else changes until they run."""
        store_rules(self.app, *documents(rules))
        self.rules = rules

    @stateful.rule(flags=st.sets(st.sampled_from(FLAGS)))
    def put_data(self, flags):
        document = {'inventory': {'cpu': {'flags': sorted(flags)}}}
        response = self.client.ask('PUT', f'/v1/nodes/{self.node}/inventory', document)
        assert response.status_int == 200, response.text
        self.flags = flags
        self.ran()

    @stateful.precondition(lambda self: self.flags is not None)
    @stateful.rule()
    def apply(self):
        """Run the rules. The result is that of the preview, and a second run changes nothing."""
        body = {'nodes': [self.node]}
        preview = self.client.ask('POST', '/v1/inspection_rules/preview', body).json
        body['digest'] = preview['digest']
        before, (node,) = set(self.holders), preview['nodes']
        first, second = (self.client.ask('POST', '/v1/inspection_rules/apply', body).json for _ in range(2))
        assert (first['applied'], second['changed']) == (1, 0)
        self.ran()
        assert set(node['added']) == self.holders.keys() - before
        assert set(node['removed']) == before - self.holders.keys()

    @stateful.rule(trait=TRAIT)
    def add(self, trait):
        self.client.ask('PUT', f'/v1/nodes/{self.node}/traits/{trait}')
        holders = self.holders | {trait: self.holders.get(trait, set()) | {'operator'}}
        self.written(holders, self.vetoes - {trait}, self.unmet)

    @stateful.rule(trait=TRAIT)
    def remove(self, trait):
        self.client.ask('DELETE', f'/v1/nodes/{self.node}/traits/{trait}')
        held = self.holders.get(trait, set())
        vetoes = self.vetoes | {trait} if held - {'operator'} else self.vetoes
        self.written(self.holders | {trait: set()}, vetoes, self.unmet)

    @stateful.invariant()
    def look(self):
        shown = sources(self.client, self.node)
        assert shown == {trait: sorted(held) for trait, held in self.holders.items()}
        inspect = self.client.get(f'/v1/nodes/{self.node}/validate')['inspect']
        assert inspect['result'] == (not self.unmet)
        assert all(f'the inspection rule {name} expects: ' in inspect['reason'] for name in self.unmet)
        eligible = self.client.get('/v1/nodes?eligible=true')['nodes']
        assert bool(eligible) == (not self.unmet)

    @stateful.invariant()
    def provider_follows(self):
        before, self.seen = self.seen, provider(self.client, self.node)
        assert self.seen[1]['traits']['traits'] == sorted(self.holders)
        assert (self.seen[0] > before[0]) == (before[1] != self.seen[1])

    def teardown(self):
        empty(self.app.service.database.url.render_as_string(hide_password=False))


def test_model(app):
    """Run the model."""

    class OnThisDatabase(Runs):
        pass

    OnThisDatabase.app = app
    machines.run(OnThisDatabase, examples=6, steps=12)
