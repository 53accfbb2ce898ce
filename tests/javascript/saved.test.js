import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { placeWithoutPage } = await import('../../ironic_traits/ui/router.js');
const { presentPlace, saveView, savedViews } = await import('../../ironic_traits/ui/saved.js');
const { store, stored } = await import('../../ironic_traits/ui/stored.js');

test('views are saved, replaced and removed by their names', () => {
  saveView('b', '#/nodes?owner=b');
  saveView('a', '#/why');
  saveView('b', '#/racks');
  assert.deepEqual(savedViews(), [{ name: 'a', place: '#/why' }, { name: 'b', place: '#/racks' }]);
  saveView('a', null);
  saveView('c', null);
  assert.deepEqual(savedViews(), [{ name: 'b', place: '#/racks' }]);
});

for (const text of ['{', 'null', '{}', '[1]', '[{"name": "a"}]', '[{"name": 1, "place": "#/"}]', '[{"name": "a", "place": "javascript:alert(1)"}]']) {
  test(`what another program has stored is ignored: ${text}`, () => {
    store('views', text);
    assert.deepEqual(savedViews(), []);
  });
}

test('a saved place is the first page', () => {
  for (const [hash, saved] of [
    ['#/nodes?traits=A&traits=B&marker=x&from=50&before=y&end=1&limit=20', '#/nodes?traits=A&traits=B&limit=20'],
    ['#/nodes/a%20b', '#/nodes/a%20b'],
    ['', '#/overview'],
  ]) {
    location.hash = hash;
    assert.equal(placeWithoutPage(), saved);
  }
});

test('a saved place has what the browser remembers, unless it says it', () => {
  store('columns', 'name,owner');
  store('size', '20');
  for (const [hash, saved] of [
    ['#/nodes?owner=a', '#/nodes?columns=name,owner&limit=20&owner=a'],
    ['#/nodes?columns=name&limit=100', '#/nodes?columns=name&limit=100'],
    ['#/racks', '#/racks'],
  ]) {
    location.hash = hash;
    assert.equal(decodeURIComponent(presentPlace()), saved);
  }
  ['columns', 'size'].forEach((name) => store(name, null));
});

test('a browser that stores nothing goes on', () => {
  const { localStorage } = globalThis;
  globalThis.localStorage = undefined;
  store('rows', 'compact');
  assert.equal(stored('rows'), null);
  globalThis.localStorage = localStorage;
});
