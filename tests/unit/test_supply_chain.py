"""The pinned requirements of a release, and the list of its components."""

import configparser
import hashlib
import json
import pathlib
import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import sbom, ui_libraries

CHECKOUT = pathlib.Path(__file__).parents[2]
#: {file: the extras whose requirements it has}.
EXTRAS = {'service': ('postgresql', 'mariadb', 'memcached', 'mirror', 'otlp', 'redfish'), 'client': ('client',)}


def _pins(name):
    """Return the pins of a file: [(Requirement, [hash, …]), …]."""
    text = (CHECKOUT / 'requirements' / f'{name}.txt').read_text().replace('\\\n', '')
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith('#')]
    return [(Requirement(line.partition(' --hash')[0]), re.findall(r'--hash=(\S+)', line)) for line in lines]


@pytest.mark.parametrize('name', EXTRAS)
def test_the_pins_satisfy_the_requirements(name):
    """The pins satisfy the requirements. If this fails, run ``tox -e lock``."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / 'setup.cfg')
    text = (CHECKOUT / 'requirements.txt').read_text()
    for extra in EXTRAS[name]:
        text += setup['options.extras_require'][extra] + '\n'
    versions = {}
    for pin, _ in _pins(name):
        (each,) = pin.specifier
        assert each.operator == '=='
        versions.setdefault(canonicalize_name(pin.name), []).append(each.version)
    required = [Requirement(line) for line in text.splitlines() if line.strip() and not line.startswith('#')]
    assert len(required) > 20
    for requirement in required:
        pinned = versions.get(canonicalize_name(requirement.name))
        hint = f'{requirement}: write requirements/ with: tox -e lock -- --no-upgrade'
        assert pinned, hint
        assert all(requirement.specifier.contains(version) for version in pinned), hint


@pytest.mark.parametrize('name', EXTRAS)
def test_each_pin_has_hashes(name):
    for pin, hashes in _pins(name):
        assert hashes, pin
        assert all(re.fullmatch(r'sha256:[0-9a-f]{64}', each) for each in hashes), pin


@pytest.mark.parametrize('name', EXTRAS)
def test_pins_name_no_address(name):
    """Pins name no index: the operator chooses it, not the machine that wrote the file."""
    text = (CHECKOUT / 'requirements' / f'{name}.txt').read_text()
    assert not re.search(r'://|^\s*-(?!-hash)', text, re.MULTILINE)


def test_the_list_has_each_file_of_the_web_page():
    digests = {
        file['name']: [(each['alg'], each['content']) for each in file['hashes']]
        for library in sbom.vendored()
        for file in library['components']
    }
    paths = [path for path in ui_libraries.FOLDER.iterdir() if path != ui_libraries.RECORD]
    assert digests == {
        str(path.relative_to(CHECKOUT)): [('SHA-256', hashlib.sha256(path.read_bytes()).hexdigest())] for path in paths
    }


def test_the_list_names_the_libraries_of_the_web_page():
    libraries = {each['name']: each for each in sbom.vendored()}
    assert sorted(libraries) == sorted(ui_libraries.LIBRARIES)
    for record in json.loads(ui_libraries.RECORD.read_text()):
        library = libraries[record['name']]
        assert library['purl'] == f'pkg:npm/{record["name"]}@{record["version"]}'
        assert library['licenses'][0]['license']['id'] == record['license']
        (digest,) = library['hashes']
        assert (digest['alg'], len(digest['content'])) == ('SHA-512', 128)


def test_the_service_is_the_subject_of_the_list():
    folder = {'type': 'distribution', 'url': 'file:///home/builder/source'}
    service = {'type': 'library', 'bom-ref': 'it', 'name': 'ironic-traits', 'externalReferences': [folder]}
    listed = {
        'metadata': {'tools': {}},
        'components': [service, {'type': 'library', 'bom-ref': 'pecan', 'name': 'pecan'}],
        'dependencies': [{'ref': 'it', 'dependsOn': ['pecan']}, {'ref': 'pecan'}],
    }
    document = sbom.complete(listed)
    assert document['metadata']['component'] == {'type': 'application', 'bom-ref': 'it', 'name': 'ironic-traits'}
    assert [each['name'] for each in document['components']] == ['pecan', *ui_libraries.LIBRARIES]
    known = {'it', *(each['bom-ref'] for each in document['components'])}
    assert {each['ref'] for each in document['dependencies']} == known
    assert set(document['dependencies'][0]['dependsOn']) == known - {'it'}
    with pytest.raises(ValueError, match='ironic-traits'):
        sbom.complete(listed | {'components': []})
