// Texts for times, files and commands.
import { PLACEMENT_VERSION, VERSION, session, url } from './api.js';

const UNITS = [
  ['year', 31536000],
  ['month', 2592000],
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const NUMBER = new Intl.NumberFormat('en');

/** Return how long ago, or how far ahead, a time is. */
export function relative(text) {
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

/** Return a time in the zone of the reader. */
export function local(text) {
  return ABSOLUTE.format(new Date(text));
}

/** Return the exact time in UTC. */
export function utc(text) {
  return `${new Date(text).toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

export function number(value) {
  return NUMBER.format(value);
}

/** Return "1 node" or "2 nodes". */
export function plural(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Return the text of a value in a table or a file. */
export function text(value) {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(text).join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Return the CSV of rows. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function csv(columns, rows) {
  const cell = (value) => {
    const content = text(value).replace(/^([=+\-@\t\r])/, "'$1");
    return /[",\r\n]/.test(content) ? `"${content.replaceAll('"', '""')}"` : content;
  };
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))]
    .map((cells) => cells.map(cell).join(','))
    .join('\r\n');
}

/** Have the browser save a file. */
export function save(name, type, content) {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(new Blob([content], { type }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
}

/** Return a word of a shell command. */
export function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Return the curl command of a request. The token is a variable: it is in no command. */
export function curl(path, { method = 'GET', body, placement = false } = {}) {
  const version = placement
    ? `OpenStack-API-Version: placement ${PLACEMENT_VERSION}`
    : `X-OpenStack-Ironic-API-Version: ${VERSION}`;
  const words = ['curl', '-s', ...(method === 'GET' ? [] : ['-X', method]), '-H', quote(version)];
  if (session.value) words.push('-H', '"X-Auth-Token: $OS_TOKEN"');
  if (body !== undefined) words.push('-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body)));
  return [...words, quote(url(path))].join(' ');
}
