// Texts for times, files and commands.
import { PLACEMENT_VERSION, VERSION, service, session, url } from './api.js';

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ['year', 31536000],
  ['month', 2592000],
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];
export const HOUR = 3600000;
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const NUMBER = new Intl.NumberFormat('en');

/**
 * Return how long ago, or how far ahead, a time is.
 *
 * @param {string} at
 */
export function relative(at) {
  const seconds = (Date.parse(at) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[UNITS.length - 1];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

/**
 * Return the time some hours ago.
 *
 * @param {number} hours
 */
export function hoursAgo(hours) {
  return new Date(Date.now() - hours * HOUR).toISOString();
}

/**
 * Return a time in the zone of the reader.
 *
 * @param {string} at
 */
export function local(at) {
  return ABSOLUTE.format(new Date(at));
}

/**
 * Return the exact time in UTC.
 *
 * @param {string} at
 */
export function utc(at) {
  return `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

/** @param {number} value */
export function number(value) {
  return NUMBER.format(value);
}

/**
 * Return "1 node" or "2 nodes".
 *
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Return the text of a value in a table or a file.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function text(value) {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(text).join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Return a line of CSV. A cell that a spreadsheet would run as a formula begins with an apostrophe.
 *
 * @param {unknown[]} values
 */
function line(values) {
  const cell = (/** @type {unknown} */ value) => {
    const content = text(value).replace(/^([=+\-@\t\r])/, "'$1");
    return /[",\r\n]/.test(content) ? `"${content.replaceAll('"', '""')}"` : content;
  };
  return values.map(cell).join(',');
}

/** @typedef {Record<string, unknown>} Item */
/** @typedef {(columns: string[], key: string) => string} Begin */
/**
 * The kinds of files: {kind: [MIME type, function to the beginning, function to the text of an item, separator, end]}.
 *
 * @type {Record<'csv' | 'json', [string, Begin, (item: Item, columns: string[]) => string, string, string]>}
 */
const FILES = {
  csv: ['text/csv', (columns) => `${line(columns)}\r\n`, (item, columns) => line(columns.map((name) => item[name])), '\r\n', ''],
  json: ['application/json', (_, key) => `{${JSON.stringify(key)}: [\n`, (item) => JSON.stringify(item), ',\n', '\n]}'],
};

/**
 * A file of the items of a list, to which pages are added.
 *
 * Each page becomes a Blob, which the browser keeps outside of the tab, on its disk if it is large.
 */
export class ListFile {
  /**
   * @param {'csv' | 'json'} kind
   * @param {string} key
   * @param {string[]} columns
   */
  constructor(kind, key, columns) {
    const [type, begin, item, separator, end] = FILES[kind];
    this.type = type;
    this.item = item;
    this.separator = separator;
    this.end = end;
    this.columns = columns;
    this.name = `${key}.${kind}`;
    /** @type {BlobPart[]} */
    this.parts = [begin(columns, key)];
    this.length = 0;
  }

  /** @param {Item[]} items */
  add(items) {
    if (!items.length) return;
    const content = items.map((item) => this.item(item, this.columns)).join(this.separator);
    this.parts.push(new Blob([this.length ? this.separator : '', content]));
    this.length += items.length;
  }

  /** Have the browser save it. */
  save() {
    const anchor = document.createElement('a');
    anchor.href = URL.createObjectURL(new Blob([...this.parts, this.end], { type: this.type }));
    anchor.download = this.name;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
  }
}

/**
 * Return a word of a shell command.
 *
 * @param {string} word
 */
export function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Return the curl command of a request.
 *
 * "ps" shows neither token nor password: curl reads the one from a pipe, and asks for the other.
 *
 * @param {string} path
 * @param {{method?: string, body?: unknown, placement?: boolean}} [options]
 */
export function curl(path, { method = 'GET', body, placement = false } = {}) {
  const version = placement
    ? `OpenStack-API-Version: placement ${PLACEMENT_VERSION}`
    : `X-OpenStack-Ironic-API-Version: ${VERSION}`;
  const words = ['curl', '-s', ...(method === 'GET' ? [] : ['-X', method]), '-H', quote(version)];
  if (service.strategy === 'http_basic') words.push('-u', 'USER');
  if (session.value) words.unshift('printf', "'X-Auth-Token: %s'", '"$OS_TOKEN"', '|');
  if (session.value) words.push('-H', '@-');
  if (body !== undefined) words.push('-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body)));
  return [...words, quote(url(path))].join(' ');
}
