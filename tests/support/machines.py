"""The number of examples of hypothesis's state machines (environment variable IRONIC_TRAITS_MACHINE_EXAMPLES).

By default, they run the same few examples each time. With IRONIC_TRAITS_MACHINE_EXAMPLES=500, each of them runs 500
random examples, which takes some minutes. Do this before a release, and after a change of reservations or allocations.
"""

import os

import hypothesis
from hypothesis import stateful


def run(machine, examples, steps):
    """Run a state machine.

    :param machine: subclass of RuleBasedStateMachine.
    :param examples: default number of examples.
    :param steps: maximum number of steps of an example.
    """
    random_examples = os.environ.get('IRONIC_TRAITS_MACHINE_EXAMPLES')
    settings = hypothesis.settings(
        max_examples=int(random_examples or examples),
        stateful_step_count=steps,
        derandomize=not random_examples,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    stateful.run_state_machine_as_test(machine, settings=settings)
