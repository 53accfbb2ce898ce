"""How long the state machines of hypothesis run (environment variable IRONIC_TRAITS_MACHINE_EXAMPLES).

By default they take the same few examples each time.  IRONIC_TRAITS_MACHINE_EXAMPLES=500 has each of them take as many
other ones: for a search of some minutes before a release, or after a change of who holds a node.
"""

import os

import hypothesis
from hypothesis import stateful


def run(machine, examples, steps):
    """Run a state machine.

    :param machine: subclass of RuleBasedStateMachine.
    :param examples: how many, when the environment does not say.
    :param steps: most steps of an example.
    """
    more = os.environ.get('IRONIC_TRAITS_MACHINE_EXAMPLES')
    settings = hypothesis.settings(
        max_examples=int(more or examples),
        stateful_step_count=steps,
        deadline=None,
        derandomize=not more,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    stateful.run_state_machine_as_test(machine, settings=settings)
