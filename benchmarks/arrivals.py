"""A trace of jobs that arrive, hold nodes, and leave: the same for the same seed.

- Arrivals are a Poisson process: the times between them have an exponential distribution.
- A job wants the number of nodes that ``SIZES`` says. Most want few, one in ten wants nearly a whole rack of 20.
- The times for which jobs hold their nodes have an exponential distribution, too. Their mean is the unit of time.
- Jobs arrive at the rate at which they hold a share of all nodes, the load, on average.

No node is held at the beginning. After a unit of time, 63% of the load is reached, after three, 95%.
"""

import heapq
import random
from typing import NamedTuple

#: {number of nodes: percentage of the jobs that want it}.
SIZES = {1: 40, 2: 20, 4: 15, 8: 15, 16: 5, 18: 5}


class Job(NamedTuple):
    """A job, which wants a number of nodes from one moment to another."""

    arrives_at: float
    leaves_at: float
    size: int


def jobs(seed, count, nodes, load):
    """Generate jobs in the order of their arrival.

    :param count: number of jobs.
    :param nodes: number of nodes that exist.
    :param load: share of the nodes that the jobs want on average.
    """
    choose, moment = random.Random(seed), 0.0
    mean_size = sum(size * share for size, share in SIZES.items()) / sum(SIZES.values())
    for _ in range(count):
        moment += choose.expovariate(load * nodes / mean_size)
        [size] = choose.choices(list(SIZES), list(SIZES.values()))
        yield Job(moment, moment + choose.expovariate(1), size)


def replay(trace, claim, release):
    """Claim nodes for each job, and release them when it leaves. At the end, release all.

    :param trace: jobs in the order of their arrival.
    :param claim: function of a size, which returns {claim: rack of the node}, or {} if it is refused.
    :param release: function of one of these claims.
    :returns: generator of ({claim: rack} of all held nodes, {claim: rack} of the job) after each arrival.
    """
    leaving, racks = [], {}

    def release_until(moment):
        while leaving and leaving[0][0] <= moment:
            for each in heapq.heappop(leaving)[-1]:
                release(each)
                del racks[each]

    for number, job in enumerate(trace):
        release_until(job.arrives_at)
        claims = claim(job.size)
        racks |= claims
        heapq.heappush(leaving, (job.leaves_at, number, claims))
        yield dict(racks), claims
    release_until(float('inf'))
