import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { answer, json, sent } from './browser.js';

const api = await import('../../ironic_traits/ui/api.js');
const { ApiError, EMPTIES, TooMany, nextPath, pages, query, request, service, session, warnings } = api;

beforeEach(() => {
  session.set(null);
  EMPTIES.clear();
});

/** Return the error of a request. */
async function refusal(response) {
  answer(response);
  try {
    await request('GET', '/v1/nodes');
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return error;
  }
  return assert.fail('The request succeeded.');
}

test('a query has the values that are not empty', () => {
  assert.equal(query({ a: 'x', b: '', c: null, d: undefined, e: 0, f: false }), '?a=x&e=0&f=false');
  assert.equal(query({ a: '', b: [] }), '');
});

test('a query keeps the empty value of a field with a facet', () => {
  EMPTIES.add('owner');
  assert.equal(query({ owner: '', lessee: '' }), '?owner=');
  assert.equal(query({ owner: null }), '');
});

test('a query repeats the values of a list, and escapes all but commas and colons', () => {
  assert.equal(query({ a: ['x,y', 'in:z'], b: 'ü &=#?+%2C' }), '?a=x,y&a=in:z&b=%C3%BC+%26%3D%23%3F%2B%252C');
  assert.equal(new URLSearchParams(query({ b: 'ü &=#?+%2C' })).get('b'), 'ü &=#?+%2C');
});

test('the path of a next page does not depend on the host and the folder of the link', () => {
  assert.equal(nextPath('http://internal:6385/v1/nodes?marker=x&limit=2'), '/v1/nodes?marker=x&limit=2');
  assert.equal(nextPath('https://cloud.example/inventory/v1/nodes?marker=x'), '/v1/nodes?marker=x');
});

test('a request has the token and a body, and returns the document', async () => {
  session.set({ token: 'T' });
  answer(json({ uuid: 1 }));
  assert.deepEqual(await request('POST', '/v1/nodes', { name: 'a' }), { uuid: 1 });
  const [[url, { method, headers, body }]] = sent;
  assert.deepEqual([url, method, body], ['https://cloud.example/inventory/v1/nodes', 'POST', '{"name":"a"}']);
  assert.deepEqual([headers['X-Auth-Token'], headers['Content-Type']], ['T', 'application/json']);
});

test('a response without a body is null', async () => {
  answer(new Response(null, { status: 204 }));
  assert.equal(await request('DELETE', '/v1/nodes/a'), null);
  assert.ok(!('Content-Type' in sent[0][1].headers));
});

test('the sentences of the warnings belong to the document', async () => {
  answer(json({}, { headers: { Warning: '299 - "One, two.", 299 - "Three."' } }));
  assert.deepEqual(warnings.get(await request('GET', '/v1/nodes')), ['One, two.', 'Three.']);
});

for (const [what, body, message] of [
  ['Ironic, as text', { error_message: '{"faultstring": "No node."}' }, 'No node.'],
  ['Ironic, as an object', { error_message: { faultstring: 'No node.' } }, 'No node.'],
  ['the check of versions', { error_message: { description: 'Not acceptable.' } }, 'Not acceptable.'],
  ['Placement', { errors: [{ detail: 'No provider.' }] }, 'No provider.'],
  ['a sentence', { error_message: 'No JSON in here.' }, 'No JSON in here.'],
  ['an object without a message', {}, 'The service answered with status 404.'],
  ['null', null, 'The service answered with status 404.'],
]) {
  test(`the message of an error: ${what}`, async () => {
    const error = await refusal(json(body, { status: 404 }));
    assert.deepEqual([error.status, error.message], [404, message]);
    assert.equal(error.body.code, undefined);
  });
}

test('the page of a proxy is no message', async () => {
  assert.equal((await refusal(new Response('<h1>Bad gateway</h1>', { status: 502 }))).message, 'The service answered with status 502.');
});

test('a service that cannot be reached', async () => {
  assert.equal((await refusal(new TypeError('Failed to fetch'))).status, 0);
});

test('a response that ends too early', async () => {
  const cut = new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError('network error')) }));
  assert.equal((await refusal(cut)).status, 0);
});

test('a response that is not JSON', async () => {
  const error = await refusal(new Response('<h1>Log in to the network</h1>'));
  assert.match(error.message, /not JSON/);
});

test('a request that was aborted is no failure of the service', async () => {
  answer(new DOMException('aborted', 'AbortError'));
  await assert.rejects(request('GET', '/v1/nodes'), { name: 'AbortError' });
});

test('a 401 ends the session whose token it was about', async () => {
  session.set({ token: 'old' });
  assert.equal((await refusal(json({}, { status: 401 }))).status, 401);
  assert.equal(session.value, null);
});

test('a 401 of an earlier request does not end a new session', async () => {
  session.set({ token: 'old' });
  globalThis.fetch = async () => {
    session.set({ token: 'new' });
    return json({}, { status: 401 });
  };
  await assert.rejects(request('GET', '/v1/nodes'), { status: 401 });
  assert.equal(session.value?.token, 'new');
});

test('without a session, a 401 says where to enter a password', async () => {
  assert.match((await refusal(new Response('', { status: 401 }))).message, /password/);
});

test('a session tells its listeners', () => {
  const messages = [];
  const stop = session.listen((message) => messages.push(message));
  session.set({ token: 'T' });
  session.expire();
  stop();
  session.set(null);
  assert.equal(messages.length, 2);
  assert.equal(messages[0], null);
  assert.match(messages[1], /ended/);
});

test('the storage of the browser keeps the session', () => {
  session.set({ token: 'T' });
  assert.deepEqual(JSON.parse(sessionStorage.getItem('ironic-traits.session')), { token: 'T' });
  session.set(null);
  assert.equal(sessionStorage.getItem('ironic-traits.session'), null);
});

test('who may see what is of the system', () => {
  const seen = (strategy, value) => {
    service.strategy = strategy;
    session.set(value);
    return api.isOperator();
  };
  assert.equal(seen('noauth', null), true);
  assert.equal(seen('keystone', { token: 'T', system: true }), true);
  assert.equal(seen('keystone', { token: 'T', project: 'p' }), false);
  assert.equal(seen('http_basic', null), true);
});

test('the pages of a list, until there are too many items', async () => {
  const next = 'http://internal/v1/nodes?marker=2';
  const responses = () => [json({ nodes: [1, 2], next }), json({ nodes: [3] })];
  const all = async (max) => {
    const found = [];
    answer(...responses());
    for await (const page of pages('/v1/nodes', 'nodes', { max })) found.push(page);
    return found;
  };
  assert.deepEqual(await all(3), [[1, 2], [3]]);
  assert.deepEqual(sent.map(([url]) => url.split('/inventory')[1]), ['/v1/nodes', '/v1/nodes?marker=2']);
  await assert.rejects(all(2), TooMany);
});
