"""YAML files cannot use up the memory or the stack."""

import pytest

from ironic_traits import yaml_documents


def _bomb(first, item, levels, width=9):
    """Return YAML whose every level repeats the level before ``width`` times."""
    lines = [f'a0: &a0 {first}']
    for level in range(1, levels):
        aliases = ', '.join(item.format(f'*a{level - 1}', number) for number in range(width))
        brackets = '{}' if ':' in item else '[]'
        lines.append(f'a{level}: &a{level} {brackets[0]}{aliases}{brackets[1]}')
    return '\n'.join(lines)


@pytest.mark.parametrize('read', [yaml_documents.load, yaml_documents.compose])
@pytest.mark.parametrize(
    'text',
    [
        _bomb('[x, x, x]', '{}', 9),
        _bomb('x', '{}', 9),
        _bomb('{k: v}', 'k{1}: {0}', 9),
        _bomb('x', '{}', 25, width=2),
        'a: &a [' + 'x, ' * 1000 + ']\nb: [' + '*a, ' * 1000 + ']',
    ],
    ids=['lists', 'texts', 'mappings', 'doubled', 'wide'],
)
def test_alias_bombs(read, text):
    with pytest.raises(ValueError, match='the aliases of the file stand for more than 1000000 values'):
        read(text)


def test_usual_aliases():
    """Aliases that repeat a few values are no bomb: an anchor of traits, a merge, one name for two anchors."""
    text = 'a: &a [X, Y]\nb: *a\nc: &c {x: 1}\nd: {<<: *c, y: 2}\ne: &e 5\nf: *e'
    expected = {'a': ['X', 'Y'], 'b': ['X', 'Y'], 'c': {'x': 1}, 'd': {'x': 1, 'y': 2}, 'e': 5, 'f': 5}
    assert yaml_documents.load(text) == expected
    assert len(yaml_documents.load('a: &a [X]\nb: [' + '*a, ' * 10_000 + ']')['b']) == 10_000


@pytest.mark.parametrize('text', ['[' * 200 + ']' * 200, '{a: ' * 101 + '1' + '}' * 101])
def test_depth(text):
    with pytest.raises(ValueError, match='nested deeper than 100'):
        yaml_documents.load(text)
