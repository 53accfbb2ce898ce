import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { namesIn } = await import('../../ironic_traits/ui/forms.js');
const { completions } = await import('../../ironic_traits/ui/trait_input.js');

test('names in a text', () => {
  assert.deepEqual(namesIn(' custom_a,CUSTOM_B\n\tcustom_c, '), ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']);
  assert.deepEqual(namesIn(' '), []);
});

const TRAITS = [
  { name: 'COMPUTE_NET_VMXNET', nodes: 0 },
  { name: 'HW_CPU_X86_INTEL_VMX', nodes: 2 },
  { name: 'HW_CPU_X86_VMX', nodes: 24 },
  { name: 'VMX_LIKE', nodes: 1 },
];
const found = (part, others = []) => completions(TRAITS, part, others).map(({ name }) => name);

test('completions of a part of a name', () => {
  // Those that begin with it, then those that most nodes have.
  assert.deepEqual(found('VMX'), ['VMX_LIKE', 'HW_CPU_X86_VMX', 'HW_CPU_X86_INTEL_VMX', 'COMPUTE_NET_VMXNET']);
  assert.deepEqual(found('NOPE'), []);
});

test('names that are in the field are not offered', () => {
  assert.deepEqual(found('VMX', ['VMX_LIKE', 'HW_CPU_X86_VMX']), ['HW_CPU_X86_INTEL_VMX', 'COMPUTE_NET_VMXNET']);
  assert.deepEqual(found('HW_CPU_X86_VMX'), []);
});
