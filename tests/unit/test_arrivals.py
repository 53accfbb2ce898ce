"""The trace of ``benchmarks.topology``: the jobs of a seed, and the nodes that they hold."""

import statistics

from benchmarks import arrivals
from benchmarks.arrivals import Job


def test_jobs_are_the_same_for_a_seed():
    first, again, other = (list(arrivals.jobs(seed, 100, 2000, 0.7)) for seed in (1, 1, 2))
    assert first == again != other


def test_jobs_follow_the_stated_distributions():
    jobs = list(arrivals.jobs(1, 20_000, 2000, 0.7))
    assert sorted(jobs) == jobs
    for size, share in arrivals.SIZES.items():
        assert abs(sum(job.size == size for job in jobs) / len(jobs) - share / 100) < 0.01
    lifetimes = [job.leaves_at - job.arrives_at for job in jobs]
    assert min(lifetimes) > 0
    assert abs(statistics.mean(lifetimes) - 1) < 0.03
    # An exponential distribution has a standard deviation equal to its mean.
    assert abs(statistics.stdev(lifetimes) - 1) < 0.05
    held = sum(job.size * (job.leaves_at - job.arrives_at) for job in jobs)
    assert abs(held / jobs[-1].arrives_at / 2000 - 0.7) < 0.03


def test_replay_claims_and_releases_in_the_order_of_time():
    log, claims = [], iter([{'a': 0, 'b': 0}, {'c': 1}, {}, {'d': 0}])

    def claim(size):
        log.append(size)
        return next(claims)

    trace = [Job(0.0, 1.0, 2), Job(0.5, 9.0, 1), Job(0.9, 3.0, 8), Job(1.0, 2.0, 1)]
    assert list(arrivals.replay(trace, claim, log.append)) == [
        ({'a': 0, 'b': 0}, {'a': 0, 'b': 0}),
        ({'a': 0, 'b': 0, 'c': 1}, {'c': 1}),
        ({'a': 0, 'b': 0, 'c': 1}, {}),
        ({'c': 1, 'd': 0}, {'d': 0}),
    ]
    assert log == [2, 1, 8, 'a', 'b', 1, 'd', 'c']
