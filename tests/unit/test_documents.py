"""Documents of an inventory: their validation, and their files."""

import pathlib
import re

import pytest

from ironic_traits.transfer import documents, files

#: {document: its problem}.
INVALID = {
    'nodes: [': 'while parsing',
    '[]': 'A document is an object',
    'traits: [{name: GPU}]': "traits[0] (GPU): needs the name of a trait as its 'name', not 'GPU'.",
    'traits: [{name: CUSTOM_A, text: a}]': "traits[0].text (CUSTOM_A): 'text' is not a field of a trait.",
    'racks: []': "racks: 'racks' is not a field of a document. Its fields are: chassis, nodes, traits.",
    'nodes: {}': 'nodes: must be a list',
    'nodes: [1]': 'nodes[0]: must be an object',
    'nodes: [{driver: fake-hardware}]': 'nodes[0]: a node needs a uuid or a name',
    'nodes: [{name: a, color: red}]': "nodes[0].color (a): 'color' is not a field of a node. ",
    'nodes: [{name: a}, {name: a}]': 'nodes[1] (a): is in the document twice',
    'chassis: [{uuid: b}, {uuid: b}]': 'chassis[1] (b): is in the document twice',
    'nodes: [{name: [a]}]': 'nodes[0].name: must be a string',
    'nodes: [{name: a, provision_state: [a]}]': 'nodes[0].provision_state',
    'nodes: [{name: a, power_state: broken}]': "nodes[0].power_state (a): must be 'power on'",
    'nodes: [{name: a, extra: &x {y: *x}}]': 'a value that JSON cannot represent',
    'nodes: [{name: a, extra: !!set {b}}]': 'a value that JSON cannot represent',
    'nodes: [{name: a, traits: CUSTOM_A}]': 'nodes[0].traits (a): must be a list',
    'nodes: [{name: a, trait_sources: [x]}]': 'nodes[0].trait_sources (a): must be an object of lists of names',
    'nodes: [{name: a, trait_sources: {x: CUSTOM_A}}]': 'nodes[0].trait_sources (a): must be an object of lists',
    'nodes: [{name: a, traits: [CUSTOM_A], trait_sources: {a b: [CUSTOM_A]}}]': "'a b' is not the name of a source.",
    'nodes: [{name: a, traits: [CUSTOM_A], trait_sources: {placement: [CUSTOM_A]}}]': "'placement' is not the name",
    'nodes: [{name: a, trait_sources: {x: [CUSTOM_A]}}]': "has CUSTOM_A, which the node's traits do not have.",
    'nodes: [{name: a, traits: 5, trait_sources: {x: [CUSTOM_A]}}]': 'nodes[0].traits (a): must be a list',
    'nodes: [{name: a, ports: [{mac: x}]}]': "nodes[0].ports[0].mac (a): 'mac' is not a field of a port.",
    'nodes: [{name: a, provision_state: deploying}]': "nodes[0].provision_state (a): 'deploying' is not",
    'nodes: [{name: a, driver_info: {password: "******"}}]': 'nodes[0] (a): has ****** instead of a secret',
    'chassis: [{description: a}]': 'chassis[0]: a chassis needs a uuid',
    'chassis: [{uuid: a, nodes: [{}]}]': 'chassis[0].nodes[0]: a node needs',
}


@pytest.mark.parametrize('text', INVALID)
def test_invalid_documents(tmp_path, text):
    path = tmp_path / 'rack.yaml'
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(INVALID[text])):
        documents.units(files.read(str(path)))


@pytest.mark.parametrize('text', ['[' * 100_000, '{"a": ' * 100_000, '[' * 100_000 + ']' * 100_000, '- ' * 100_000])
def test_documents_that_are_nested_too_deep(tmp_path, text):
    """Documents that are nested too deeply are refused. YAML's parser would end the process."""
    path = tmp_path / 'rack.yaml'
    path.write_text(text)
    with pytest.raises(ValueError, match='nested deeper than 100'):
        files.read(str(path))


def test_sentences_about_documents_that_only_json_can_read(tmp_path):
    path = tmp_path / 'rack.json'
    path.write_text('[' * 500 + ']' * 500)
    (sentence,) = files.InputFile(str(path)).sentences([documents.Problem((), 'A document is an object')])
    assert sentence.startswith(f'{path}, line 1: ')


def test_round_trip(tmp_path):
    """Strings stay strings, even if YAML could read them as another type."""
    texts = ['11:22:33:44:55:10', '2026-01-01', '0123', '1e3', '1.5', '1.5e5', '-1.0E3', 'yes', '~', '', 'a\nb: [c']
    texts += ['\u263a', '\U0001f600', 'x' * 2000]
    document = {
        'nodes': [{'name': text, 'extra': {text: [1, 1.5, -2.0, 1e22, 1e-07, True, None, 10**20]}} for text in texts]
    }
    for name in ('rack.yaml', 'rack.json'):
        files.write(document, str(tmp_path / name))
        assert files.read(str(tmp_path / name)) == document


def test_existing_files_stay_until_all_is_written(tmp_path):
    """An existing file stays until the new one is complete. A device is written to, not replaced."""
    mode = pathlib.Path('/dev/full').stat().st_mode
    with pytest.raises(OSError, match='No space'):
        files.write({'nodes': ['x' * 10**6]}, '/dev/full')
    assert pathlib.Path('/dev/full').stat().st_mode == mode
    path = tmp_path / 'rack.yaml'
    files.write({'nodes': []}, str(path))
    path.chmod(0o644)
    files.write({'chassis': []}, str(path))
    assert (path.read_text(), path.stat().st_mode & 0o777) == ('chassis: []\n', 0o600)
    assert list(tmp_path.iterdir()) == [path]
