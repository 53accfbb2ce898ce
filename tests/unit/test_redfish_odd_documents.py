"""Redfish documents that are wrong in any way: each part of an inspection has a result, or a sentence says why not."""

import copy
import itertools
import json

import hypothesis
from hypothesis import strategies

from ironic_traits.matching.rules import rule_evaluation
from ironic_traits.redfish import inspections
from ironic_traits.redfish.trees import Unreadable
from tests.support.redfish_kinds import KINDS, ONE
from tests.support.redfish_trees import V1, Documents, to, traits

WRONG = strategies.sampled_from(
    [None, True, -1, 0, 1.5, float('nan'), float('inf'), 10**400, '', 'x' * 70_000, 'N/A', '\ud800', '\0', [], {}, [[]],
     [None], {'@odata.id': 5}, {'@odata.id': V1 + ONE}, {'@odata.id': 'http://other/redfish/v1/x'},
     [{'@odata.id': None}], [{'@odata.id': V1 + ONE}] * 3, [to(f'/x/{number}') for number in range(3000)],
     {'Members': [to(ONE)] * 3000}, {'State': []}, {'Attributes': {'a': {'current_value': {}}}}]
)  # fmt: skip


def places(value, path=()):
    """Yield the paths of all values in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def draw_place(data, tree):
    """Draw the path of a value; of a large tree, one of the first. ``expand`` can make a tree with millions of them."""
    return data.draw(strategies.sampled_from(list(itertools.islice(filter(None, places(tree)), 20_000))))


def holder_of(tree, path):
    """What holds the value of a path."""
    for step in path[:-1]:
        tree = tree[step]
    return tree


def replace(data, tree, path):
    holder_of(tree, path)[path[-1]] = copy.deepcopy(data.draw(WRONG))


def remove(data, tree, path):
    del holder_of(tree, path)[path[-1]]


def move(data, tree, path):
    """Write what stands elsewhere: links to other documents, whole documents, lists instead of texts."""
    other = draw_place(data, tree)
    holder_of(tree, path)[path[-1]] = copy.deepcopy(holder_of(tree, other)[other[-1]])


def expand(data, tree, path):
    """Write the members of a collection in the place of the links, as some BMCs do."""
    for document in [
        each for each in tree.values() if isinstance(each, dict) and isinstance(each.get('Members'), list)
    ]:
        links = [each for each in document['Members'] if isinstance(each, dict)]
        found = [(each, tree.get(str(each.get('@odata.id')).removeprefix(V1))) for each in links]
        document['Members'] = [{**inside, **each} if isinstance(inside, dict) else each for each, inside in found]


def link_on(data, tree, path):
    """Let a document have a next page: itself, another one, or none that exists."""
    if isinstance(tree[path[0]], dict):
        tree[path[0]]['Members@odata.nextLink'] = V1 + data.draw(strategies.sampled_from([*tree, f'{path[0]}?$skip=1']))


CHANGES = strategies.sampled_from([replace, replace, replace, remove, move, expand, link_on])


class OddDocuments(Documents):
    """Documents, some of which may be no objects."""

    def get(self, path):
        found = super().get(path)
        if not isinstance(found, dict):
            raise Unreadable('The document is no object.')
        return found


@hypothesis.settings(max_examples=400, deadline=None)
@hypothesis.given(strategies.data())
def test_documents_with_anything_in_them(data):
    tree = copy.deepcopy(KINDS[data.draw(strategies.sampled_from(sorted(KINDS)))])
    for _ in range(data.draw(strategies.integers(1, 5))):
        path = draw_place(data, tree)
        data.draw(CHANGES)(data, tree, path)
    try:
        found = inspections.inspect(OddDocuments(tree), V1 + ONE)
    except Unreadable:
        return
    assert found.unread.keys() <= inspections.PARTS.keys()
    assert all(sentence.endswith('.') and len(sentence) < 1000 for sentence in found.unread.values())
    rule_evaluation.facts_of(found.document)
    json.dumps(found.document, allow_nan=False).encode()
    assert len(traits(found)) <= 50


class Endless(Documents):
    """Collections whose pages never end, with new members on each."""

    def get(self, path):
        if path.endswith(('/Memory', '/Nics', '/Storage', '/Functions', '/FirmwareInventory')) or '?page=' in path:
            base, _, page = path.partition('?page=')
            members = [to(f'{base.removeprefix(V1)}/{page}-{number}') for number in range(100)]
            return {'Members': members, 'Members@odata.nextLink': f'{base}?page={int(page or 0) + 1}'}
        return super().get(path)


def test_collections_that_do_not_end():
    tree = Endless(copy.deepcopy(KINDS['dell']))
    tree[ONE] |= {'PCIeFunctions': to('/Functions'), 'Memory': to('/Memory')}
    found = inspections.inspect(tree, V1 + ONE)
    assert {'nics', 'storage', 'memory', 'pci', 'firmware'} <= found.unread.keys()
    assert 'HW_CPU_X86_AVX512F' in traits(found)


def test_expanded_members_are_as_good_as_links():
    for tree in KINDS.values():
        expanded = copy.deepcopy(tree)
        expand(None, expanded, None)
        found, whole = (inspections.inspect(Documents(each), V1 + ONE) for each in (expanded, tree))
        assert traits(found) == traits(whole)


def test_members_without_a_path_are_all_read():
    tree = copy.deepcopy(KINDS['dell'])
    gpu, cpu = (tree[f'{ONE}/Processors/{name}'] for name in ('Video.Slot.1', 'CPU.Socket.1'))
    tree[f'{ONE}/Processors'] = {'Members': [gpu, cpu]}
    assert inspections.inspect(Documents(tree), V1 + ONE).inventory['cpu']['architecture'] == 'x86_64'


def test_a_bmc_without_any_document_but_the_system():
    found = inspections.inspect(Documents({ONE: {'Processors': to('/p'), 'Memory': to('/m')}}), V1 + ONE)
    assert {'processors', 'memory', 'adapters', 'firmware'} <= found.unread.keys()
