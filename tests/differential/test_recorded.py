"""Generated sequences of requests, whose answers are compared with recorded ones of the real services.

IRONIC_TRAITS_WRITE_SAMPLES=1 asks the real services again. ``python -m tests.differential`` compares other sequences.
"""

import os

import pytest

from tests.differential import page, recorded, runs


@pytest.mark.parametrize('name', runs.APIS)
def test_answers_are_those_of_the_real_service(name):
    sequences = recorded.sequences(name)
    if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
        recorded.write(name)
    digest, answers = recorded.read(name)
    assert digest == recorded.digest(sequences), 'IRONIC_TRAITS_WRITE_SAMPLES=1 records the changed sequences.'
    figures = runs.Figures()
    with runs.ours(name) as service:
        for requests, theirs in zip(sequences, answers, strict=True):
            ours = service.answers([each.raw() for each in requests[: len(theirs)]])
            service.reset()
            runs.add(figures, runs.api(name)[1], list(zip(requests, theirs, ours, strict=False)))
    assert figures.kinds == {}
    # Check the number of compared requests: an empty comparison would have no differences.
    assert figures.requests > 100


def test_the_pages_have_all_differences_and_results():
    for path, text in page.texts().items():
        if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
            path.write_text(text)
        assert path.read_text() == text, 'IRONIC_TRAITS_WRITE_SAMPLES=1 writes the page.'
