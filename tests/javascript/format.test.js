import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { beforeEach, mock, test } from 'node:test';
import './browser.js';

const { service, session } = await import('../../ironic_traits/ui/api.js');
const { ListFile, curl, local, number, plural, quote, relative, text, utc } = await import('../../ironic_traits/ui/format.js');

beforeEach(() => {
  service.strategy = 'noauth';
  session.set(null);
});

/** Return the words of a command, as a shell reads it. */
function words(command) {
  return execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

for (const word of ['', "it's", "''", '$HOME', '`id`', 'a b', 'a\nb', '!', '~', '*', '-x', '\\', '"', '#', 'ä', '{a,b}', '&', '(', 'a=b']) {
  test(`a shell reads the word ${JSON.stringify(word)} as it is`, () => assert.deepEqual(words(quote(word)), [word]));
}

test('a word that needs no quotes has none', () => {
  assert.equal(quote('trait:CUSTOM_A-b.c/d@e%2C=1+,'), 'trait:CUSTOM_A-b.c/d@e%2C=1+,');
});

test('curl sends the body and the URL as they are', () => {
  const body = { name: "O'Neill $(id)", list: ['a b'] };
  const sent = words(curl('/v1/matches?a=b&c=d', { method: 'POST', body }));
  assert.deepEqual(sent.slice(0, 4), ['curl', '-s', '-X', 'POST']);
  assert.deepEqual(JSON.parse(sent[sent.indexOf('-d') + 1]), body);
  assert.equal(sent.at(-1), 'https://cloud.example/inventory/v1/matches?a=b&c=d');
  assert.ok(sent.includes('Content-Type: application/json'));
});

test('curl asks Placement with its own version', () => {
  assert.match(curl('/placement/traits', { placement: true }), /'OpenStack-API-Version: placement 1\.\d+'/);
  assert.doesNotMatch(curl('/placement/traits', { placement: true }), /Ironic/);
});

test('no command has the token of the session', () => {
  session.set({ token: 'SECRET' });
  const command = curl('/v1/nodes');
  assert.doesNotMatch(command, /SECRET/);
  assert.match(command, /^printf 'X-Auth-Token: %s' "\$OS_TOKEN" \| curl -s .*-H @- /);
});

test('curl asks for the password of http_basic', () => {
  service.strategy = 'http_basic';
  assert.match(curl('/v1/nodes'), / -u USER /);
});

test('how long ago a time is', () => {
  mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-07-01T12:00:00Z') });
  const times = {
    '2026-07-01T12:00:00Z': 'now',
    '2026-07-01T11:59:59.6Z': 'now',
    '2026-07-01T11:59:01Z': '59 seconds ago',
    '2026-07-01T11:59:00Z': '1 minute ago',
    '2026-07-01T10:00:01Z': '1 hour ago',
    '2026-06-30T12:00:00+00:00': 'yesterday',
    '2026-07-03T12:00:00Z': 'in 2 days',
    '2025-06-01T12:00:00Z': 'last year',
  };
  assert.deepEqual(Object.fromEntries(Object.keys(times).map((at) => [at, relative(at)])), times);
  mock.timers.reset();
});

test('a time in the zone of the reader, and in UTC', () => {
  assert.match(local('2026-07-01T12:00:00Z'), /\b0?2:00:00|14:00:00/);
  assert.equal(utc('2026-07-01T14:00:00+02:00'), '2026-07-01 12:00:00.000 UTC');
});

test('numbers and nouns', () => {
  assert.equal(number(1234567), '1,234,567');
  assert.deepEqual([0, 1, 2, 1000].map((count) => plural(count, 'node')), ['0 nodes', '1 node', '2 nodes', '1,000 nodes']);
});

test('the text of a value', () => {
  const values = [null, undefined, false, 0, '', ['A', 'B'], { a: [1] }, [{ a: 1 }, null]];
  assert.deepEqual(values.map(text), ['', '', 'false', '0', '', 'A B', '{"a":[1]}', '{"a":1} ']);
});

/** Return the text of a file of pages of items. */
async function written(kind, columns, ...pages) {
  const file = new ListFile(kind, 'nodes', columns);
  pages.forEach((page) => file.add(page));
  assert.equal(file.length, pages.flat().length);
  return new Blob([...file.parts, file.end]).text();
}

test('a file of JSON is a document, however many pages it has', async () => {
  const pages = [[{ uuid: 1 }, { uuid: 2 }], [], [{ uuid: 3 }]];
  assert.deepEqual(JSON.parse(await written('json', ['uuid'], ...pages)), { nodes: pages.flat() });
  assert.deepEqual(JSON.parse(await written('json', ['uuid'])), { nodes: [] });
});

test('a file of CSV has quotes where they are needed, and no formulas', async () => {
  const page = [{ name: 'a "b", c', traits: ['X', 'Y'] }, { name: '=1+1', traits: null }, { name: '@x\ny', traits: '-1' }];
  assert.equal(await written('csv', ['name', 'traits'], page.slice(0, 2), page.slice(2)),
    'name,traits\r\n"a ""b"", c",X Y\r\n\'=1+1,\r\n"\'@x\ny",\'-1');
});
