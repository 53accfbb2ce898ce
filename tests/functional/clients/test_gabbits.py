"""The gabbi files, each on an empty database of each kind, with a worker."""

import pathlib
import unittest

import pytest
from gabbi import handlers, suitemaker

from tests.support import yaml_files
from tests.support.service import worker

GABBITS = pathlib.Path(__file__).parents[1] / 'gabbits'


@pytest.mark.parametrize('path', sorted(GABBITS.glob('*.yaml')), ids=lambda path: path.stem)
def test_gabbit(app, database_url, path):
    with worker(database_url):
        _run(app, path)


def _run(app, path):
    suite = suitemaker.test_suite_from_dict(
        unittest.TestLoader(),
        path.stem,
        yaml_files.load(path),
        str(GABBITS),
        'ironic-traits',
        80,
        None,
        lambda: app,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )
    result = unittest.TestResult()
    suite.run(result)
    broken = [f'{test}\n{text}' for test, text in result.failures + result.errors]
    broken += [f'{test}: passes, though it is expected to fail' for test in result.unexpectedSuccesses]
    assert result.testsRun
    assert not broken, '\n'.join(broken)
