import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import './browser.js';

const { query } = await import('../../ironic_traits/ui/api.js');
const { changed, chips, fill, filtersOf, isWithout, options, withTrait, withoutField } = await import('../../ironic_traits/ui/views/filters.js');

before(() => {
  const column = (label) => ({ label, is_facet: true, is_selectable: true, is_sortable: true });
  fill({
    columns: { owner: column('Owner'), shard: column('Shard'), origin: column('Origin'), name: { label: 'Name', is_facet: false } },
    flags: { maintenance: ['in maintenance', 'not in maintenance'] },
  });
});

/** Return the query that changes of parameters make. */
function after(search, change) {
  return decodeURIComponent(query(change(new URLSearchParams(search))));
}

/** Return [words and text, query without it] of each chip. */
function chipsOf(search) {
  return chips(new URLSearchParams(search)).map(({ words, text, without }) => [`${words} ${text}`.trim(), decodeURIComponent(query(without))]);
}

test('only filters are sent, and a field with a facet may be empty', () => {
  const parameters = new URLSearchParams('owner=&owner=a&columns=name&marker=x&sort_key=name&traits=A&constructor=1&name=n');
  assert.deepEqual(filtersOf(parameters), { owner: ['', 'a'], traits: ['A'] });
});

test('yes and no are written as the service reads them', () => {
  const values = (search) => filtersOf(new URLSearchParams(search));
  for (const yes of ['True', '1', 'yes', 'on']) assert.deepEqual(values(`maintenance=${yes}&sharded=${yes}`), { maintenance: ['true'], sharded: ['true'] });
  for (const no of ['FALSE', '0', 'n', 'off']) assert.deepEqual(values(`maintenance=${no}`), { maintenance: ['false'] });
  assert.deepEqual(values('maintenance=maybe&owner=yes'), { maintenance: ['maybe'], owner: ['yes'] });
  assert.deepEqual(chipsOf('maintenance=True'), [['in maintenance', '']]);
});

test('a change leads to the first page', () => {
  assert.equal(after('marker=x&columns=name', (parameters) => changed(parameters, { search: 'a' })), '?columns=name&search=a');
});

test('a trait joins the first value of its filter, once', () => {
  assert.equal(after('', (parameters) => withTrait(parameters, 'traits', 'A')), '?traits=A');
  assert.equal(after('traits=A,B', (parameters) => withTrait(parameters, 'traits', 'A')), '?traits=A,B');
  assert.equal(after('traits-any=A&traits-any=B', (parameters) => withTrait(parameters, 'traits-any', 'C')), '?traits-any=A,C&traits-any=B');
});

test('nodes without a value of a field', () => {
  const without = (search, field) => after(search, (parameters) => withoutField(parameters, field));
  assert.equal(without('', 'shard'), '?sharded=false');
  assert.equal(without('', 'origin'), '?origin=');
  assert.equal(without('', 'owner'), '?without=owner');
  assert.equal(without('without=owner', 'lessee'), '?without=owner,lessee');
  for (const field of ['shard', 'origin', 'owner']) {
    assert.ok(isWithout(new URLSearchParams(without('', field)), field), field);
    assert.ok(!isWithout(new URLSearchParams(`${field}=a`), field), field);
  }
});

test('each chip leaves out its own filter only', () => {
  assert.deepEqual(chipsOf('traits=A,B&traits=C&owner=o'), [
    ['has A', '?traits=B&traits=C&owner=o'],
    ['has B', '?traits=A&traits=C&owner=o'],
    ['has C', '?traits=A,B&owner=o'],
    ['Owner o', '?traits=A,B&traits=C'],
  ]);
  assert.deepEqual(chipsOf('traits-any=A,B&traits-any=C'), [['any of A, B', '?traits-any=C'], ['any of C', '?traits-any=A,B']]);
});

test('the words of chips', () => {
  const words = (search) => chipsOf(search).map(([text]) => text);
  assert.deepEqual(words('maintenance=true&maintenance=false'), ['in maintenance', 'not in maintenance']);
  assert.deepEqual(words('owner=&without=lessee,owner&sharded=false'), ['Owner (none)', 'lessee (none)', 'Owner (none)', 'Shard (none)']);
  assert.deepEqual(words('sharded=true&search=x'), ['Shard (any)', 'Search x']);
});

test('the options of the command for filters', () => {
  assert.deepEqual(options({ maintenance: ['false'], traits: ['A,B'], 'not-traits-any': ['C'], resource_class: ['gold'], sharded: ['true'] }),
    ['--no-maintenance', '--trait', 'A', 'B', '--not-trait', 'C', '--resource-class', 'gold', '--sharded']);
  assert.deepEqual(options({}), []);
  assert.deepEqual(options({ owner: ['-team'], lessee: ['team'] }), ['--owner=-team', '--lessee', 'team']);
  assert.deepEqual(options({ shard: ['-a'], include_children: ['true'] }), ['--shards=-a', '--include-children']);
  assert.deepEqual(options({ include_children: ['false'] }), []);
});

test('filters that the command has no option for', () => {
  assert.equal(options({ search: ['x'] }), null);
  assert.equal(options({ owner: [''] }), null);
  assert.equal(options({ shard: ['-a,b'] }), null);
  // The client writes them into the URL as they are.
  for (const value of ['a#b', 'a+b', 'a&b=c', 'a%41']) assert.equal(options({ resource_class: [value] }), null, value);
  assert.equal(options({ owner: ['a', 'b'] }), null);
});
