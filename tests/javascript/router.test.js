import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rendered } from './browser.js';

const { h, render } = await import('../../ironic_traits/ui/vendor/preact.js');
const { AGAIN, go, link, place, placeOf, usePlace } = await import('../../ironic_traits/ui/router.js');

/** Return the place of a fragment: [path, parameters]. */
function placeAt(hash) {
  location.hash = hash;
  const { path, parameters } = place();
  return [path, [...parameters]];
}

for (const [hash, path, parameters] of [
  ['', [], []],
  ['#', [], []],
  ['#/', [], []],
  ['#nodes', ['nodes'], []],
  ['#/nodes/', ['nodes'], []],
  ['#/nodes?a=1&a=2&b=', ['nodes'], [['a', '1'], ['a', '2'], ['b', '']]],
  ['#/nodes/a%2Fb%20c', ['nodes', 'a/b c'], []],
  ['#/nodes/100%', ['nodes', '100%'], []],
  ['#/nodes?search=a+b%2Bc%3F', ['nodes'], [['search', 'a b+c?']]],
  ['#/nodes?search=why?&sort_key=name', ['nodes'], [['search', 'why?'], ['sort_key', 'name']]],
]) {
  test(`the place of ${hash || 'no fragment'}`, () => assert.deepEqual(placeAt(hash), [path, parameters]));
}

for (const name of ['a/b', '100%', 'ü?#&', '..', ' ']) {
  test(`the link to ${JSON.stringify(name)} leads there`, () => {
    assert.deepEqual(placeAt(link(['nodes', name], { search: name })), [['nodes', name], [['search', name]]]);
  });
}

test('to go to the present place loads it again', () => {
  const events = [];
  for (const name of [AGAIN, 'hashchange']) addEventListener(name, () => events.push(name));
  go(['nodes'], { search: 'a' });
  go(['nodes'], { search: 'a' });
  go(['nodes'], { search: 'b' }, { replace: true });
  assert.deepEqual(events, ['hashchange', AGAIN, 'hashchange']);
  assert.equal(location.hash, '#/nodes?search=b');
});

test('a view is left and found again with its parameters', async () => {
  const seen = [];
  location.hash = '#/nodes?search=a';
  render(h(() => void seen.push(usePlace().path.join('/'))), { childNodes: [] });
  for (const hash of ['#/nodes/x', '#/changes']) {
    location.hash = hash;
    await rendered();
  }
  assert.deepEqual(seen, ['nodes', 'nodes/x', 'changes']);
  assert.equal(placeOf('nodes'), '#/nodes?search=a');
  assert.equal(placeOf('rules'), '#/rules');
});
