// Drafts of inspection rules.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import './browser.js';

const { ruleOf } = await import('../../ironic_traits/ui/views/rules.js');

const fields = { traits: ['CUSTOM_BIG_MEMORY'], fact: 'inventory[memory][physical_mb]', operator: 'ge', value: '200000' };

test('a rule with a number', () => {
  assert.deepEqual(ruleOf(fields), {
    name: 'big-memory',
    conditions: [{ op: 'ge', args: { values: ['{inventory[memory][physical_mb]}', 200000] } }],
    actions: [{ op: 'add-trait', args: { name: 'CUSTOM_BIG_MEMORY' } }],
  });
});

test('the arguments of each operator', () => {
  const condition = (operator, value) => ruleOf({ ...fields, fact: '{item}', operator, value }).conditions[0];
  assert.deepEqual(condition('eq', 'uefi'), { op: 'eq', args: { values: ['{item}', 'uefi'] } });
  assert.deepEqual(condition('le', '1e3'), { op: 'le', args: { values: ['{item}', 1000] } });
  assert.deepEqual(condition('eq', ''), { op: 'eq', args: { values: ['{item}', ''] } });
  assert.deepEqual(condition('has', 'avx2'), { op: 'has', args: { value: '{item}', member: 'avx2' } });
  assert.deepEqual(condition('contains', 'Intel(R) 3.0'), { op: 'contains', args: { value: '{item}', regex: String.raw`Intel\(R\) 3\.0` } });
  assert.deepEqual(condition('contains', 'A {1}'), { op: 'contains', args: { value: '{item}', regex: String.raw`A \{1\}` } });
  assert.deepEqual(condition('eq', 'A {1}'), { op: 'eq', args: { values: ['{item}', 'A {{1}}'] } });
  assert.deepEqual(condition('has', 'a{b'), { op: 'has', args: { value: '{item}', member: 'a{{b' } });
  assert.deepEqual(condition('!is-empty', 'no matter'), { op: '!is-empty', args: { value: '{item}' } });
});

test('several traits, and no fact', () => {
  const rule = ruleOf({ traits: ['CUSTOM_A', 'HW_CPU_X86_VMX'], fact: '', operator: 'eq', value: '' });
  assert.equal(rule.name, 'a-and-hw-cpu-x86-vmx');
  assert.deepEqual(rule.conditions, []);
  assert.equal(rule.actions.length, 2);
});
