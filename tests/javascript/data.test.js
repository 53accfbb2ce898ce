import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rendered } from './browser.js';

const { ApiError } = await import('../../ironic_traits/ui/api.js');
const { useAction, useCancel, useData } = await import('../../ironic_traits/ui/data.js');
const { AGAIN } = await import('../../ironic_traits/ui/router.js');
const { h, render } = await import('../../ironic_traits/ui/vendor/preact.js');

/** Render a hook; returns {current, show, end}: what it returns, and functions that render it with others, or end it. */
function using(hook, ...values) {
  const parent = { childNodes: [] };
  const shown = { current: null };
  const View = (props) => {
    shown.current = hook(...props.values);
    return null;
  };
  shown.show = (...others) => {
    render(h(View, { values: others }), parent);
    return rendered();
  };
  shown.end = () => {
    render(null, parent);
    return rendered();
  };
  shown.show(...values);
  return shown;
}

/** Return load, and the loads that it has begun: [{key, signal, resolve, reject}, …]. */
function loads() {
  const begun = [];
  const load = (key) => (signal) => new Promise((resolve, reject) => void begun.push({ key, signal, resolve, reject }));
  return { begun, load };
}

test('data stay, and are stale, until those of another key come', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'));
  await rendered();
  assert.deepEqual([view.current.data, view.current.loading, view.current.isStale], [undefined, true, false]);
  begun[0].resolve(1);
  await rendered();
  assert.deepEqual([view.current.data, view.current.loading, view.current.isStale], [1, false, false]);
  await view.show('b', load('b'));
  assert.deepEqual([view.current.data, view.current.loading, view.current.isStale], [1, true, true]);
  begun[1].resolve(2);
  await rendered();
  assert.deepEqual([view.current.data, view.current.loading, view.current.isStale], [2, false, false]);
  await view.end();
});

test('a load of an earlier key is aborted, and its late response is not shown', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'));
  await rendered();
  await view.show('b', load('b'));
  assert.equal(begun[0].signal.aborted, true);
  begun[1].resolve('b');
  begun[0].resolve('a');
  await rendered();
  assert.equal(view.current.data, 'b');
  await view.end();
});

test('the end of a view aborts its load', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'));
  await rendered();
  await view.end();
  assert.equal(begun[0].signal.aborted, true);
});

test('the data stay if a reload of the same key fails, but not if another key fails', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'));
  await rendered();
  begun[0].resolve(1);
  await rendered();
  view.current.reload();
  await rendered();
  begun[1].reject(new Error('no'));
  await rendered();
  assert.deepEqual([view.current.data, view.current.error?.message, view.current.isStale], [1, 'no', false]);
  await view.show('b', load('b'));
  begun[2].reject(new Error('no b'));
  await rendered();
  assert.deepEqual([view.current.data, view.current.error?.message, view.current.isStale], [undefined, 'no b', false]);
  await view.end();
});

test('an error goes when the data come', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'));
  await rendered();
  begun[0].reject(new Error('no'));
  await rendered();
  view.current.reload();
  await rendered();
  begun[1].resolve(1);
  await rendered();
  assert.deepEqual([view.current.data, view.current.error, view.current.turn], [1, undefined, 1]);
  await view.end();
});

test('another version, and the present place again, load the same key again', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'), 1);
  await rendered();
  await view.show('a', load('a'), 2);
  assert.equal(begun.length, 2);
  dispatchEvent(new Event(AGAIN));
  await rendered();
  assert.equal(begun.length, 3);
  await view.end();
  dispatchEvent(new Event(AGAIN));
  await rendered();
  assert.equal(begun.length, 3);
});

test('without a key, nothing is loaded, and earlier data go', async () => {
  const { begun, load } = loads();
  const view = using(useData, 'a', load('a'));
  await rendered();
  begun[0].resolve(1);
  await rendered();
  await view.show(null, load('null'));
  assert.deepEqual([view.current.data, view.current.loading, view.current.isStale, begun.length], [undefined, false, false, 1]);
  await view.end();
});

test('an action shows that it runs, and its result', async () => {
  const view = using(useAction, async (one, other) => one + other);
  const [run] = view.current;
  const promise = run(1, 2);
  await Promise.resolve();
  assert.equal(await promise, 3);
  await rendered();
  assert.deepEqual(view.current[1], { result: 3, done: true });
  await view.end();
});

for (const status of [400, 404, 409, 0, 403, 503]) {
  test(`an action that fails with status ${status}`, async () => {
    let refusals = 0;
    const error = new ApiError(status, 'no');
    const view = using(useAction, () => Promise.reject(error), () => void (refusals += 1));
    assert.equal(await view.current[0](), undefined);
    await rendered();
    assert.equal(view.current[1].error, error);
    assert.equal(refusals, [400, 404, 409].includes(status) ? 1 : 0);
    await view.end();
  });
}

test('the result of an action is not shown after a reset, or after a later run', async () => {
  const resolves = [];
  const view = using(useAction, () => new Promise((resolve) => void resolves.push(resolve)));
  const [run, , reset] = view.current;
  run();
  reset();
  resolves[0]('first');
  await rendered();
  assert.deepEqual(view.current[1], {});
  run();
  run();
  resolves[2]('third');
  resolves[1]('second');
  await rendered();
  assert.equal(view.current[1].result, 'third');
  await view.end();
});

test('a long action can be cancelled, and the end of the view cancels it', async () => {
  const view = using(useCancel);
  await rendered();
  view.current.cancel();
  const first = view.current.begin();
  view.current.cancel();
  assert.equal(first.aborted, true);
  const second = view.current.begin();
  assert.equal(second.aborted, false);
  await view.end();
  assert.equal(second.aborted, true);
});
