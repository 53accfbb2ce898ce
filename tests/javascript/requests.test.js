import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { clauseWords, groupWords, unmetWords, verdict, withoutWords } = await import('../../ironic_traits/ui/views/clauses.js');
const { flavorOf, imageOf, listOf } = await import('../../ironic_traits/ui/views/requests.js');
const { topologyOf, topologyOptions } = await import('../../ironic_traits/ui/views/why_topology.js');

const SPECS = { 'resources:CUSTOM_GOLD': '1', 'trait:HW_CPU_X86_VMX': 'required' };
for (const [what, text] of [
  ['extra specs', JSON.stringify(SPECS)],
  ['lines', '\n resources:CUSTOM_GOLD = 1\n\ntrait:HW_CPU_X86_VMX=required\n'],
  ['numbers', '{"resources:CUSTOM_GOLD": 1, "trait:HW_CPU_X86_VMX": "required", "a": null, "b": ["c"]}'],
  ['the output of the client', JSON.stringify({ name: 'gold', ram: 1, properties: SPECS })],
  ['the output of an old client', JSON.stringify({ name: 'gold', properties: "resources:CUSTOM_GOLD='1', trait:HW_CPU_X86_VMX='required'" })],
  ['the body of nova', JSON.stringify({ flavor: { name: 'gold', extra_specs: SPECS } })],
]) {
  test(`a flavor as ${what}`, () => assert.deepEqual(flavorOf(text), { extra_specs: SPECS }));
}

test('an image, or only its id', () => {
  assert.deepEqual(imageOf('{"id": "1"}'), { id: '1' });
  assert.deepEqual(imageOf('{"id": "1", "properties": {"trait:CUSTOM_A": "required"}}'), { properties: { 'trait:CUSTOM_A': 'required' } });
  assert.deepEqual(imageOf('trait:CUSTOM_A=required'), { properties: { 'trait:CUSTOM_A': 'required' } });
});

test('an empty text is no flavor, no image and no list', () => {
  assert.deepEqual([flavorOf(' \n'), imageOf(''), listOf(' ', 'flavors', 'extra_specs')], [null, null, null]);
});

for (const text of ['[]', 'null', '1', '"a"', '{"a": ', 'a', 'a=', '{"flavor": "gold"}', '{"flavor": ["gold"]}']) {
  test(`no flavor: ${text}`, () => assert.throws(() => flavorOf(text), /^Error: The flavor /));
}

test('a list of flavors', () => {
  const flavors = [{ name: 'gold', extra_specs: SPECS }];
  for (const document of [{ gold: SPECS }, flavors, [{ ...flavors[0], ram: 1 }]]) {
    assert.deepEqual(listOf(JSON.stringify(document), 'flavors', 'extra_specs'), flavors);
  }
  assert.deepEqual(listOf('[{"name": "a", "resource_class": "b"}]', 'flavors', 'extra_specs'), [{ name: 'a', resource_class: 'b' }]);
  for (const text of ['1', '[1]', '[[]]', '[null]', 'null', 'gold=1']) {
    assert.throws(() => listOf(text, 'flavors', 'extra_specs'), /^Error: The flavors /, text);
  }
});

test('clauses in words', () => {
  const clauses = {
    'required:CUSTOM_A': 'has the trait CUSTOM_A',
    'required_any:A,B': 'has one of A, B',
    'eligible:maintenance': 'is not in maintenance',
    'eligible:a new reason': 'a new reason',
    'topology:trait:CUSTOM_RACK_': 'is in one group of trait:CUSTOM_RACK_',
    'unknown:x': 'unknown x',
    unknown: 'unknown',
  };
  assert.deepEqual(Object.fromEntries(Object.keys(clauses).map((clause) => [clause, clauseWords(clause)])), clauses);
  assert.equal(withoutWords(['required:A', 'forbidden:B', 'required_any:C,D']), 'Without A and not B and one of C, D');
  assert.equal(withoutWords(['resource_class:gold', 'eligible:reserved']), 'Without class gold and “is not reserved”');
});

test('the verdict on a request', () => {
  const one = { clause: 'required:A', rejected: 5 };
  for (const [explanation, words] of [
    [{ considered: 0 }, 'There is no node'],
    [{ matched: 1, considered: 1200 }, '1 node of 1,200 matches'],
    [{ matched: 1100, considered: 1200 }, '1,100 nodes of 1,200 match'],
    [{}, 'No node matches'],
    [{ relaxations: [{ drop: ['required:A'], nodes: 2 }] }, 'No node has A; without it 2 match'],
    [{ relaxations: [{ drop: ['required:A'], nodes: 1 }], considered: 6 }, 'No node matches; without A 1 matches'],
    [{ relaxations: [{ drop: ['required:A', 'eligible:reserved'], nodes: 2 }, { drop: ['a', 'b', 'c'], nodes: 9 }] }, 'No node matches; without A and “is not reserved” 2 match'],
  ]) {
    assert.equal(verdict({ matched: 0, considered: 5, clauses: [one], relaxations: [], ...explanation }), words);
  }
});

test('groups in words', () => {
  assert.equal(groupWords({ 'trait:CUSTOM_RACK_': 'CUSTOM_RACK_1', 'properties/row': '7' }), 'CUSTOM_RACK_1 with row 7');
  assert.equal(groupWords({}), 'The best choice');
});

/** Return the topology of the fields of a form. */
function topology(fields) {
  return topologyOf((name) => fields[name] ?? '');
}

test('the topology of a form', () => {
  assert.deepEqual(topology({}), {});
  assert.deepEqual(topology({ count: '3', relative_to: 'a, b', key_2: 'shard', policy_2: 'affinity', key: 'owner', max_per_group: '2' }), {
    topology: [{ key: 'owner', max_per_group: 2 }, { key: 'shard', policy: 'affinity' }],
    relative_to: ['a', 'b'],
    count: 3,
  });
  assert.deepEqual(topology({ count: 'many' }), { count: 'many' });
  for (const fields of [{ key: 'owner' }, { policy: 'affinity' }]) assert.throws(() => topology(fields), /enter a key/);
});

test('the options of the command for a topology', () => {
  const most = { key: "it's", policy: 'anti-affinity', max_per_group: 2 };
  assert.deepEqual(topologyOptions({}), []);
  assert.deepEqual(topologyOptions({ count: 2, topology: [most], relative_to: ['a b'] }),
    ['--count', 2, '--spread', "'it'\\''s'", '--max-per-group', 2, '--relative-to', "'a b'"]);
  assert.deepEqual(topologyOptions({ topology: [{ key: 'shard', policy: 'affinity', prefer: 'fullest' }, most] }),
    ['--same', 'shard', '--spread', "'it'\\''s'", '--max-per-group', 2, '--pack']);
});

test('topologies that the command cannot express', () => {
  const item = { key: 'shard', policy: 'anti-affinity' };
  for (const items of [
    [{ key: 'shard', max_per_group: 2 }],
    [{ ...item, prefer: 'emptiest' }],
    [{ ...item, max_per_group: 2 }, { ...item, max_per_group: 3 }],
    [{ ...item, max_per_group: 2 }, item],
  ]) {
    assert.equal(topologyOptions({ topology: items }), null);
  }
});

test('why a node does not match', () => {
  const words = {
    'required:CUSTOM_GPU': 'lacks CUSTOM_GPU',
    'required_any:CUSTOM_A,CUSTOM_B': 'has none of CUSTOM_A, CUSTOM_B',
    'forbidden:CUSTOM_OLD': 'has CUSTOM_OLD',
    'resource_class:CUSTOM_GOLD': 'is not of the class CUSTOM_GOLD',
    'eligible:reserved': 'is reserved',
    'eligible:unheard of': 'not: unheard of',
    'topology:properties/rack': 'not: is in one group of properties/rack',
  };
  for (const [clause, text] of Object.entries(words)) assert.equal(unmetWords(clause), text);
});
