"""A model of a cloud whose nodes change, vanish, return and are created again, compared with its mirror.

The cloud may lie. What an operator has set here is lost only with the machine, on each database.
IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits import failures
from ironic_traits.inventory.mirrored import mirror_deletions, mirror_kept_nodes, mirrored_nodes
from tests.conftest import empty
from tests.support import machines
from tests.support.client import Client
from tests.support.mirrored_nodes import UUIDS, Store

NODE = st.integers(0, 1)
TRAIT = st.sampled_from(['CUSTOM_A', 'CUSTOM_B'])


class Machine:
    """A machine of the cloud.

    :ivar born: number of machines that had its uuid before.
    :ivar theirs: its traits in the cloud.
    :ivar ours, vetoes: what the operator has set here.
    """

    def __init__(self, born):
        self.born, self.theirs, self.ours, self.vetoes = born, {'CUSTOM_A'}, set(), set()


class Cloud(stateful.RuleBasedStateMachine):
    """Predicts the traits of mirrored nodes.

    :cvar app: the application.
    """

    app = None

    def __init__(self):
        super().__init__()
        self.client, self.far = Client(self.app), Store(self.app.service, 'far')
        self.machines = [Machine(0) for _ in range(2)]
        #: Numbers of the nodes that the cloud shows, of those here, and of those that wait for an operator.
        self.shown, self.here, self.waiting = {0, 1}, set(), set()
        #: [{machine}, …]: machines that were deleted here, and have not returned.
        self.gone = [[] for _ in range(2)]
        #: {number of a node: the traits that it had there when it was last read}.
        self.stored = {}
        self.store()

    @stateful.rule(node=NODE, traits=st.sets(TRAIT))
    def change_there(self, node, traits):
        self.machines[node].theirs = traits

    @stateful.rule(node=NODE)
    def vanish(self, node):
        self.shown.discard(node)

    @stateful.rule(node=NODE)
    def come_back(self, node):
        self.shown.add(node)

    @stateful.rule(node=NODE)
    def create_again(self, node):
        machine = self.machines[node]
        self.machines[node] = Machine(machine.born + 1)
        if node in self.here:
            self.gone[node].append(machine)
        self.waiting.discard(node)
        self.shown.add(node)
        self.store()

    @stateful.rule(node=NODE, trait=TRAIT, add=st.booleans())
    def write_here(self, node, trait, add):
        if node not in self.here:
            return
        machine = self.machines[node]
        held = self.traits(node)
        self.client.ask('PUT' if add else 'DELETE', f'/v1/nodes/{UUIDS[node]}/traits/{trait}')
        if add:
            machine.ours.add(trait)
            machine.vetoes.discard(trait)
        elif trait in held:
            if trait in self.stored[node]:
                machine.vetoes.add(trait)
            machine.ours.discard(trait)

    @stateful.rule(node=NODE)
    def restore(self, node):
        """Let another machine have what the operator had set on the one before."""
        kept = [each for each in self.gone[node] if each.ours or each.vetoes]
        machine = self.machines[node]
        try:
            mirror_kept_nodes.restore(self.far.context, UUIDS[node])
        except (failures.NodeNotFound, failures.InvalidState):
            assert node not in self.here or not kept
            return
        machine.vetoes |= kept[-1].vetoes - machine.ours
        machine.ours |= kept[-1].ours - machine.vetoes
        self.gone[node].remove(kept[-1])

    @stateful.rule(node=NODE)
    def vanish_for_a_while(self, node):
        self.vanish(node)
        self.compare(2)
        self.come_back(node)
        self.store()

    @stateful.rule(limit=st.integers(0, 2))
    def compare(self, limit):
        """Compare the uuids, as the mirror does."""
        gone = self.here - self.shown
        waiting = mirror_deletions.waiting(self.far.context, self.far.turn, {UUIDS[each] for each in gone}, limit)
        self.waiting &= gone
        self.waiting = gone if len(gone) > limit or self.waiting else set()
        assert waiting == {UUIDS[each] for each in self.waiting}
        for node in gone - self.waiting:
            self.delete(node)

    @stateful.rule()
    def confirm(self):
        gone = self.here - self.shown
        self.far_waits()
        if not self.waiting:
            return
        assert mirror_deletions.confirm(self.far.context, 'far') == len(self.waiting)
        kept = mirror_deletions.waiting(self.far.context, self.far.turn, {UUIDS[each] for each in gone}, 3)
        assert kept == set()
        self.waiting = set()
        for node in gone:
            self.delete(node)

    def far_waits(self):
        """Read the missing nodes, and forget those that are back."""
        gone = {UUIDS[each] for each in self.here - self.shown}
        waiting = mirror_deletions.waiting(self.far.context, self.far.turn, gone, 3)
        self.waiting = {UUIDS.index(uuid) for uuid in waiting}

    def delete(self, node):
        assert mirrored_nodes.delete(self.far.context, self.far.turn, UUIDS[node])
        self.here.discard(node)
        self.gone[node].append(self.machines[node])

    def traits(self, node):
        return set(self.client.get(f'/v1/nodes/{UUIDS[node]}/traits')['traits'])

    @stateful.rule()
    def store(self):
        """Read the cloud."""
        for node in sorted(self.shown):
            machine = self.machines[node]
            created_at = f'2026-01-01T00:00:{machine.born:02}+00:00'
            self.far.nodes({'number': node, 'traits': sorted(machine.theirs), 'created_at': created_at})
            self.stored[node] = set(machine.theirs)
            self.here.add(node)
            if machine in self.gone[node]:
                self.gone[node].remove(machine)

    @stateful.invariant()
    def look(self):
        shown = {each['uuid'] for each in self.client.get('/v1/nodes')['nodes']}
        assert shown == {UUIDS[node] for node in self.here}
        for node in self.here:
            machine = self.machines[node]
            assert self.traits(node) == machine.ours | (self.stored[node] - machine.vetoes)

    def teardown(self):
        empty(self.app.service.database.url.render_as_string(hide_password=False))


def test_model(app):
    """Run the model."""

    class OnThisDatabase(Cloud):
        pass

    OnThisDatabase.app = app
    machines.run(OnThisDatabase, examples=6, steps=20)
