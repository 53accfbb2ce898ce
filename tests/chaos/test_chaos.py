"""A short run on a cluster. The long form is ``tox -e chaos``.

Set IRONIC_TRAITS_CHAOS_SEED for another schedule of faults.
"""

import os

from tests.chaos import faults, runs
from tests.support import clusters, servers

SEED = os.environ.get('IRONIC_TRAITS_CHAOS_SEED', '1')
#: Faults of the short run. All kinds would take twice as long.
SHORT = ['api killed', 'worker killed', 'database frozen', 'database cut off']


def test_nothing_is_lost():
    """No acknowledged write is lost on a Galera cluster when processes are killed, and a node is frozen and cut off."""
    servers.require(clusters.Galera.installed(), 'galera is not installed')
    result = runs.run('galera', SEED, 20, SHORT, pause=0.1)
    assert not result.problems, '\n'.join(result.problems)
    assert result.longest < faults.LONGEST
    assert result.acknowledged > 100
    assert result.faults.keys() == set(SHORT)
