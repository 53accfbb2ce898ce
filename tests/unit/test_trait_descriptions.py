"""Descriptions of standard traits, from the comments of os-traits."""

import doctest
import inspect
import sys
import tokenize

import pytest

from ironic_traits.matching import trait_descriptions
from ironic_traits.matching.traits import STANDARD


def test_examples():
    result = doctest.testmod(trait_descriptions)
    assert result.attempted
    assert result.failed == 0


def test_standard_traits():
    texts = trait_descriptions.standard()
    assert texts.keys() <= STANDARD
    assert len(texts) > len(STANDARD) * 0.9
    assert texts['STORAGE_DISK_SSD'] == 'solid-state disks'
    assert texts['OWNER_NOVA'] == 'The resource provider owner is Nova.'
    assert texts['HW_GPU_MAX_DISPLAY_HEADS_8'] == 'The maximal number of display outputs or heads.'
    assert texts['MISC_SHARES_VIA_AGGREGATE'].count('\n\n') == 4
    assert not any('#' in text.split('http')[0] or 'noqa' in text for text in texts.values())


@pytest.mark.parametrize(
    ('source', 'texts'),
    [
        ('', {}),
        ('TRAITS = []', {}),
        ('OTHERS = ["B"]  # b\n\nTRAITS = ["A"]  # of the list', {}),
        ('TRAITS = [\n  "A",\n  "B",  # b\n]', {'B': 'b'}),
        (
            'TRAITS = [\n  # one\n  # two\n  "A", "B",\n  # three\n  "C"]',
            {'A': 'one two', 'B': 'one two', 'C': 'three'},
        ),
        ('TRAITS = [\n  # one\n\n  "A",\n\n  "B"]', {'A': 'one'}),
        ('TRAITS = [\n  # one\n  #\n  # two\n  # ref: x/\n  # y  # noqa\n  "A"]', {'A': 'one\n\ntwo\nref: x/y'}),
        ('TRAITS = [  # of the list\n  "A"]\n# behind', {'A': 'of the list'}),
    ],
)
def test_comments(source, texts):
    assert trait_descriptions.comments(source) == texts


@pytest.mark.parametrize('source', ['TRAITS = [', 'TRAITS = ["A', 'TRAITS = [\n  """'])
def test_broken_sources(source):
    with pytest.raises((SyntaxError, tokenize.TokenError)):
        trait_descriptions.comments(source)


def test_without_sources(monkeypatch):
    """There are no descriptions of a module without a file, as in an installation without sources."""
    module = type(sys)('os_traits.storage.disk')
    module.TRAITS = ['HDD', 'SSD']
    monkeypatch.setitem(sys.modules, 'os_traits.storage.disk', module)
    with pytest.raises((OSError, TypeError)):
        inspect.getsource(module)
    trait_descriptions.standard.cache_clear()
    try:
        texts = trait_descriptions.standard()
    finally:
        trait_descriptions.standard.cache_clear()
    assert 'STORAGE_DISK_SSD' not in texts
    assert 'OWNER_NOVA' in texts
