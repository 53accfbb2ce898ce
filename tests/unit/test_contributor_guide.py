"""The packages, paths and invariants in the contributor guide exist, and no text refers to missing files."""

import configparser
import pathlib
import re
import subprocess

import pytest

CHECKOUT = pathlib.Path(__file__).parents[2]
GUIDE = CHECKOUT / 'doc' / 'source' / 'contributor'
#: A path of the checkout in a text: it begins with a folder of the checkout, or is a file at its top.
_PATH = re.compile(
    r'(?<![\w/.-])(?:\.\./)*((?:alembic|api-ref|benchmarks|doc|etc|ironic_traits|tests)(?:/[\w.-]*\w)+|\w[\w-]*\.rst)(?![\w/*{])'
)
#: Files that are built from the checkout: pages, and the installed folder of migrations.
_BUILT = ('doc/build', 'ironic_traits/db/alembic')
#: A test that a text names: its file and its name.
_TEST = re.compile(r'\b(tests/[\w/]+\.py)::(test_\w+)')
_INVARIANT = re.compile(r'\binvariants? (\d+(?:(?:,| and|-) ?\d+)*)', re.IGNORECASE)
#: A document that is not part of the checkout.
_ELSEWHERE = re.compile(r'\bDESIGN\b')


def _tracked():
    listed = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=CHECKOUT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip('not a git checkout')
    paths = [CHECKOUT / name for name in listed.stdout.splitlines()]
    return [
        path
        for path in paths
        if path.is_file() and path.suffix not in ('.json', '.png') and path != pathlib.Path(__file__)
    ]


def _texts():
    return {path: path.read_text() for path in _tracked()}


def test_every_package_is_in_the_architecture():
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / 'setup.cfg')
    text = (GUIDE / 'architecture.rst').read_text()
    missing = [name for name in setup['options']['packages'].split() if f'``{name}``' not in text]
    assert missing == [], 'Add the packages to the table "Layers" in doc/source/contributor/architecture.rst.'


@pytest.mark.parametrize('page', sorted(GUIDE.rglob('*.rst')), ids=lambda page: page.stem)
def test_every_path_exists(page):
    paths = {path for path in _PATH.findall(page.read_text()) if '/' in path and not path.startswith(_BUILT)}
    assert [path for path in sorted(paths) if not (CHECKOUT / path).exists()] == []


def test_invariants_are_numbered():
    numbers = re.findall(r'^Invariant (\d+):', (GUIDE / 'invariants.rst').read_text(), re.MULTILINE)
    assert list(map(int, numbers)) == list(range(1, len(numbers) + 1))


def test_every_cited_invariant_exists():
    existing = set(re.findall(r'^Invariant (\d+):', (GUIDE / 'invariants.rst').read_text(), re.MULTILINE))
    cited = {
        (str(path.relative_to(CHECKOUT)), number)
        for path, text in _texts().items()
        for match in _INVARIANT.findall(text)
        for number in re.findall(r'\d+', match)
    }
    assert {number for _, number in cited}
    assert [each for each in sorted(cited) if each[1] not in existing] == []


def test_nothing_refers_to_another_place():
    assert [str(path) for path, text in _texts().items() if _ELSEWHERE.search(text)] == []


def test_no_text_names_a_missing_file():
    """Neither the documentation nor a comment or docstring names a missing file."""
    missing = []
    for path, text in _texts().items():
        if path.suffix not in ('.rst', '.py', '.toml', '.cfg', '.txt') or 'releasenotes' in path.parts:
            continue
        for name in _PATH.findall(text):
            places = (CHECKOUT, CHECKOUT / 'doc' / 'source', path.parent)
            # A link to a page (:doc:) leaves out the suffix.
            names = (name, f'{name}.rst')
            if not name.startswith(_BUILT) and not any((place / each).exists() for place in places for each in names):
                missing.append((str(path.relative_to(CHECKOUT)), name))
    assert missing == []


def test_no_page_names_a_missing_test():
    pages = (CHECKOUT / 'doc' / 'source').rglob('*.rst')
    named = {match for page in pages for match in _TEST.findall(page.read_text())}
    assert named
    missing = [(path, name) for path, name in named if f'\ndef {name}(' not in (CHECKOUT / path).read_text()]
    assert sorted(missing) == []


def test_the_licence_is_apache():
    text = (CHECKOUT / 'LICENSE').read_text()
    assert 'Version 2.0, January 2004' in text
    assert text.rstrip().endswith('limitations under the License.')
