"""The number of examples of hypothesis's state machines (environment variable IRONIC_TRAITS_MACHINE_EXAMPLES).

By default, they run the same few examples each time, most of them on SQLite only. With
IRONIC_TRAITS_MACHINE_EXAMPLES=500, each of them runs 500 random examples on each database, which takes some minutes. Do
this before a release, and after a change of reservations or allocations.
"""

import os

import hypothesis
from hypothesis import stateful

from tests.support.cleaning import empty
from tests.support.client import Client
from tests.support.servers import SERVERS

_EXAMPLES = os.environ.get('IRONIC_TRAITS_MACHINE_EXAMPLES')
#: The databases of machines with one client at a time: they look for sequences, not for SQL.
DATABASES = ('sqlite', *SERVERS) if _EXAMPLES else ('sqlite',)


class OnApps(stateful.RuleBasedStateMachine):
    """A machine whose requests go to several applications on one database, in turns. Each example empties it.

    :cvar apps: the applications; ``run`` sets them.
    """

    apps = ()
    _turn = 0

    @property
    def app(self):
        """The application of the next request."""
        self._turn += 1
        return self.apps[self._turn % len(self.apps)]

    @property
    def client(self):
        """A client of the next application."""
        return Client(self.app)

    def end(self):
        """Make the last checks of an example."""

    def teardown(self):
        """End an example."""
        try:
            self.end()
        finally:
            empty(self.apps[0].service.database.url.render_as_string(hide_password=False))


def on(machine, *apps):
    """Return a subclass of a machine, for some applications.

    It is a class of its own: hypothesis must not take over anything from the run on another database.
    """
    return type(machine.__name__, (machine,), {'apps': apps})


def run(machine, examples, steps, *apps):
    """Run a state machine.

    :param machine: subclass of RuleBasedStateMachine.
    :param examples: default number of examples.
    :param steps: maximum number of steps of an example.
    :param apps: for a subclass of OnApps.
    """
    machine = on(machine, *apps) if apps else machine
    settings = hypothesis.settings(
        max_examples=int(_EXAMPLES or examples),
        stateful_step_count=steps,
        derandomize=not _EXAMPLES,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    stateful.run_state_machine_as_test(machine, settings=settings)
