"""Deploys by virtual media, in any order, with BMCs that fail and workers that die in the middle."""

import contextlib

from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits import failures
from ironic_traits.inventory.provisioning import transitions as carried
from ironic_traits.worker.performer import Performer
from tests.conftest import empty
from tests.support import machines, transitions
from tests.support.bmc_nodes import OPTIONS, carry_out
from tests.support.bmc_server import media, serving
from tests.support.client import Client
from tests.support.redfish_trees import to
from tests.support.service import finish_work, make_app

DATABASES = machines.DATABASES
CD = '/Systems/1/VirtualMedia/Cd'
IMAGES = [f'http://127.0.0.1:1/{name}.iso' for name in ('one', 'two')]
ACTIONS = [f'{CD}/Actions/VirtualMedia.{name}Media' for name in ('Insert', 'Eject')]
FAULTS = ['/Systems/1', '/Systems/1/VirtualMedia', CD, *ACTIONS, '/Systems/1/Actions/ComputerSystem.Reset']
STABLE = ('available', 'active', 'deploy failed', 'error')
#: More looks at a BMC than one action has.
MANY = 90


class Booting(stateful.RuleBasedStateMachine):
    """A node whose BMC may fail, and what must be true of it whenever nothing is under way."""

    app = None
    bmc = None

    def __init__(self):
        super().__init__()
        self.client = Client(self.app)
        self.bmc.system.update(PowerState='Off', VirtualMedia=to('/Systems/1/VirtualMedia'))
        self.bmc.documents |= media('/Systems/1', Cd=['CD', 'DVD'])
        self.bmc.boots.clear()
        self.bmc.answers.clear()
        interfaces = {'deploy_interface': 'ramdisk', 'boot_interface': 'redfish-virtual-media'}
        fields = {'driver_info': self.bmc.driver_info, 'automated_clean': False, **interfaces}
        self.node = self.client.node(driver='redfish', **fields)['uuid']
        for verb in ('manage', 'provide'):
            carry_out(self.client, self.node, verb)
        self.image, self.has_failed = None, False

    def state(self):
        """Return the provision state of the node."""
        return transitions.state(self.client, self.node)

    def ask(self, verb):
        """Request a state. What fails from now on is counted."""
        transitions.ask(self.client, self.node, verb)
        self.has_failed = bool(self.bmc.answers)

    def look(self, times):
        """Let a worker look at the BMC some times."""
        for _ in range(times):
            finish_work(self.app)
            if self.state() in STABLE:
                break
            transitions.pass_time(self.app, 15)

    @stateful.precondition(lambda self: self.state() in STABLE)
    @stateful.rule(image=st.sampled_from(IMAGES))
    def deploy(self, image):
        verb = 'active' if self.state() in ('available', 'deploy failed') else 'rebuild'
        patch = [{'op': 'add', 'path': '/instance_info/boot_iso', 'value': image}]
        assert self.client.ask('PATCH', f'/v1/nodes/{self.node}', patch).status_int == 200
        self.image = image
        self.ask(verb)

    @stateful.precondition(lambda self: self.state() in ('active', 'deploy failed', 'error', 'wait call-back'))
    @stateful.rule()
    def undeploy(self):
        self.ask('deleted')

    @stateful.rule(times=st.integers(1, 12))
    def work(self, times):
        self.look(times)

    @stateful.rule()
    def die(self):
        """Let a worker die after it has asked the BMC, before it stores the outcome."""
        with contextlib.suppress(failures.NodeNotFound):
            claim = carried.claim(self.app.service, self.node)
            call = claim and Performer(self.app.service)._next(claim)
            if call and hasattr(call, 'outcome'):
                call.outcome()
        transitions.pass_time(self.app)

    @stateful.rule(path=st.sampled_from(FAULTS), is_done=st.booleans())
    def fail(self, path, is_done):
        """Let the BMC answer an error, before or after it has done what it was asked for."""

        def answer(handler):
            if is_done and handler.command != 'GET':
                handler.answer, send = lambda *arguments, **headers: None, handler.answer
                handler.serve(path)
                handler.answer = send
            # For 5xx, sushy waits and sends the request again.
            handler.answer({'error': {'message': 'Busy.'}}, 409)

        self.bmc.answers[path] = answer
        self.has_failed = True

    @stateful.rule()
    def mend(self):
        self.bmc.answers.clear()

    @stateful.rule()
    def end(self):
        """Look as often as an action takes at most. What has ended is complete, or an error."""
        self.look(MANY)
        node = self.client.get(f'/v1/nodes/{self.node}')
        assert node['reservation'] is None
        assert node['provision_state'] in STABLE, node
        assert self.has_failed or node['provision_state'] in ('available', 'active'), node['last_error']

    @stateful.invariant()
    def is_as_shown(self):
        """A node that is active runs its image; one that is available is off, and has none."""
        state = self.state()
        if state == 'active':
            assert (self.bmc.system['PowerState'], self.bmc.media) == ('On', {CD: self.image})
            assert self.bmc.boots[-1] == self.image
        if state == 'available':
            assert (self.bmc.system['PowerState'], self.bmc.media) == ('Off', {})


def test_model(database_url):
    """IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``)."""
    options = OPTIONS | {'redfish__timeout': 5, 'deploy__node_locked_retry_attempts': 0, 'deploy__max_attempts': 100}
    with make_app(database_url, **options) as app, serving() as bmc:

        class OnThisDatabase(Booting):
            def teardown(self):
                empty(database_url)

        OnThisDatabase.app, OnThisDatabase.bmc = app, bmc
        machines.run(OnThisDatabase, examples=10, steps=25)
