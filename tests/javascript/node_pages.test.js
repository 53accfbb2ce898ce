import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { query } = await import('../../ironic_traits/ui/api.js');
const { otherPages, pageOf, sizeOf } = await import('../../ironic_traits/ui/views/node_pages.js');

const ALL = Array.from({ length: 130 }, (_, index) => ({ uuid: `n${index}` }));

/** Return a page of a list as the view has it: what the service answers, in the order of the table. */
function read(parameters, all = ALL) {
  const { paging, isReversed } = pageOf(parameters);
  const sorted = (paging.sort_dir === 'desc') === (parameters.get('sort_dir') === 'desc') ? all : all.toReversed();
  assert.equal(isReversed, sorted !== all);
  const begin = paging.marker ? sorted.findIndex(({ uuid }) => uuid === paging.marker) + 1 : 0;
  const nodes = sorted.slice(begin, begin + Number(paging.limit));
  return { nodes: isReversed ? nodes.toReversed() : nodes, next: begin + nodes.length < all.length ? 'http://cloud.example/next' : undefined };
}

/** Return the pages that the links lead to, from a place: [first uuid, begin, end] of each. */
function walk(search, links, total = ALL.length) {
  let parameters = new URLSearchParams(search);
  return ['', ...links].map((name) => {
    if (name) parameters = new URLSearchParams(query(otherPages(parameters, read(parameters), total)[name]).slice(1));
    const list = read(parameters);
    const { begin, end } = otherPages(parameters, list, total);
    return [list.nodes[0]?.uuid, begin, end];
  });
}

for (const search of ['', 'sort_key=owner&sort_dir=desc']) {
  test(`each page of "${search}" forward and backward`, () => {
    assert.deepEqual(walk(search, ['next', 'next', 'previous', 'previous']), [
      ['n0', 1, 50], ['n50', 51, 100], ['n100', 101, 130], ['n50', 51, 100], ['n0', 1, 50],
    ]);
    assert.deepEqual(walk(search, ['last', 'previous', 'previous', 'next', 'first']), [
      ['n0', 1, 50], ['n80', 81, 130], ['n30', 31, 80], ['n0', 1, 50], ['n50', 51, 100], ['n0', 1, 50],
    ]);
  });
}

test('there are no links where there are no pages', () => {
  const links = (search, all, total) => {
    const parameters = new URLSearchParams(search);
    const { begin, end, ...pages } = otherPages(parameters, read(parameters, all), total);
    return [Object.keys(pages).filter((name) => pages[name]), begin, end];
  };
  assert.deepEqual(links('', ALL.slice(0, 50), 50), [[], 1, 50]);
  assert.deepEqual(links('', [], 0), [[], 1, 0]);
  assert.deepEqual(links('', ALL, undefined), [['next', 'last'], 1, 50]);
  assert.deepEqual(links('marker=n99&from=100', ALL, 130), [['first', 'previous'], 101, 130]);
  // All nodes after the marker are gone.
  assert.deepEqual(links('marker=n129&from=130', ALL, 130), [['first'], 131, 130]);
  assert.deepEqual(links('before=n50', ALL, 130), [['first', 'next', 'last'], null, null]);
  assert.deepEqual(links('end=1', ALL, undefined), [['first', 'previous'], null, null]);
});

test('a position that cannot be right is not shown', () => {
  for (const search of ['marker=n49', 'marker=n49&from=x', 'marker=n49&from=-1', 'marker=n49&from=100']) {
    const parameters = new URLSearchParams(search);
    const { begin, next } = otherPages(parameters, read(parameters), 130);
    assert.equal(begin, null, search);
    assert.equal(next.from, '');
  }
});

test('the number of rows is one of the choice', () => {
  for (const [limit, size] of [['20', 20], ['500', 500], ['7', 50], ['', 50], ['x', 50]]) assert.equal(sizeOf(new URLSearchParams({ limit })), size);
});
