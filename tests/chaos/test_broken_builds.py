"""The checker finds a problem in each build with a bug, and none in the real one."""

import pytest

from tests.chaos import broken, runs


@pytest.mark.parametrize('name', broken.BUILDS)
def test_broken_builds_are_caught(postgresql, tmp_path, name):
    words = broken.BUILDS[name][1]
    for attempt in range(3):
        problems = runs.run_broken(postgresql, tmp_path / str(attempt), name, attempt, 3 * 2**attempt)
        if not words:
            assert not problems
            return
        if any(word in problem for problem in problems for word in words):
            return
    pytest.fail(f'{name} was not noticed')
