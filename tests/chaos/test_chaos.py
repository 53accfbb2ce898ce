"""A short run on a cluster. The long form is ``tox -e chaos``.

IRONIC_TRAITS_CHAOS_SEED has another schedule than the usual one.
"""

import os

import pytest

from tests.chaos import faults, runs
from tests.support import clusters

SEED = os.environ.get('IRONIC_TRAITS_CHAOS_SEED', '1')
#: Faults of the short run: one of each kind would take twice as long.
SHORT = ['api killed', 'worker killed', 'database frozen', 'database cut off']


def test_nothing_is_lost():
    """On a Galera cluster, with processes that are killed, and a node that is frozen and cut off."""
    if not clusters.Galera.installed():
        pytest.skip('left out')
    result = runs.run('galera', SEED, 20, SHORT, pause=0.1)
    assert not result.problems, result
    assert result.longest < faults.LONGEST
    assert result.acknowledged > 100
    assert result.faults.keys() == set(SHORT)
