import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { oddOnes, prefixes } = await import('../../ironic_traits/ui/views/racks.js');

test('beginnings that several traits have in common', () => {
  const names = ['CUSTOM_TIER_1', 'CUSTOM_TIER_2', 'CUSTOM_RACK_10', 'CUSTOM_RACK_2', 'CUSTOM_GOLD', 'CUSTOM_ROW_1', 'HW_CPU_X86_VMX', 'HW_CPU_X86_AVX'];
  assert.deepEqual(prefixes(names), ['CUSTOM_RACK_', 'CUSTOM_TIER_']);
  assert.deepEqual(prefixes([]), []);
});

const facet = (counts) => Object.entries(counts).map(([value, nodes]) => ({ value, nodes }));
const odd = (nodes, traits, classes = {}) => oddOnes({ nodes, facets: { resource_class: facet(classes), driver: [], traits: facet(traits) } }).map(({ text }) => text);

test('the odd node out', () => {
  assert.deepEqual(odd(8, { CUSTOM_A: 8, CUSTOM_B: 7, CUSTOM_C: 1, CUSTOM_D: 4 }), ['lacks CUSTOM_B', 'has CUSTOM_C']);
  assert.deepEqual(odd(8, {}, { gold: 7, silver: 1 }), ['resource_class silver']);
});

test('no node is odd', () => {
  // Of two, each differs from the other. With three values, nothing is usual.
  assert.deepEqual(odd(2, { CUSTOM_A: 1 }), []);
  assert.deepEqual(odd(8, {}, { gold: 6, silver: 1, iron: 1 }), []);
  assert.deepEqual(odd(8, { CUSTOM_A: 8 }, { gold: 8 }), []);
});
