"""The rules of the style guide (doc/source/contributor/style.rst) that a program can check."""

import ast
import pathlib
import re

import pytest

from tests.support import checkout, syntax
from tests.support.checkout import CHECKOUT

#: Files that quote the phrases.
QUOTING = (CHECKOUT / 'doc/source/contributor/style.rst', pathlib.Path(__file__))
FILES = [
    path
    for path in checkout.files({'.py', '.rst', '.yaml'}, 'README.rst', 'alembic/**/*', 'tests/**/*')
    if path not in QUOTING
]
MODULES = [path for path in FILES if path.suffix == '.py']

#: {beginning that no docstring may have: what to write instead}.
BEGINNINGS = {
    'Give': 'Return, or Generate',
    'Tell': 'Whether (of a predicate), or Return',
    'Do nothing': 'Raise … unless …',
    'Make sure': 'Ensure, Check, or Raise … unless …',
}
#: {phrase that no text may have: what to write instead}.
PHRASES = {
    'whoever': 'the caller, the client, the operator: name them',
    'somebody': 'another client, a user with a role: name them',
    "nobody's": 'a thing without an owner: say what it matches, or who may use it',
    'what is none': 'an invalid value, a malformed uuid: name the thing',
    'what there is': 'the existing rows, the nodes of the service: name the things',
}
#: The same, of texts besides tests and release notes.
TEXT_PHRASES = {
    'goes on': 'continues',
    **{
        f'is a {status}': f'the response is {status}, or: … is refused with {status}'
        for status in (400, 403, 404, 406, 409, 410, 412, 415, 500, 503)
    },
}
#: Directories of these other texts.
OTHER_TEXTS = ('tests', 'releasenotes')


@pytest.fixture(scope='module')
def trees():
    """The syntax tree of each module."""
    return dict(zip(MODULES, syntax.trees(path.read_text() for path in MODULES), strict=True))


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_docstrings(path, trees):
    problems = [
        f'{path}:{line}: a docstring begins with "{beginning}". Write instead: {advice}'
        for line, docstring in _docstrings(trees[path])
        for beginning, advice in BEGINNINGS.items()
        if re.match(rf'{beginning}\b', docstring)
    ]
    assert not problems, '\n'.join(problems)


@pytest.mark.parametrize('path', FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_phrases(path):
    text = path.read_text()
    is_other = path.relative_to(CHECKOUT).parts[0] in OTHER_TEXTS
    problems = [
        f'{path}:{_line(text, match.start())}: "{phrase}". Write instead: {advice}'
        for phrase, advice in (PHRASES | ({} if is_other else TEXT_PHRASES)).items()
        for match in _pattern(phrase).finditer(text)
    ]
    assert not problems, '\n'.join(problems)


def _docstrings(tree):
    """Generate (line number, docstring) of a module and all its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield getattr(node, 'lineno', 1), docstring


def _line(text, position):
    return text.count('\n', 0, position) + 1


def _pattern(phrase):
    """Return a pattern that finds a phrase also across lines, also in comments."""
    return re.compile(r'\b' + r'[\s#]+'.join(map(re.escape, phrase.split())) + r'\b', re.IGNORECASE)
