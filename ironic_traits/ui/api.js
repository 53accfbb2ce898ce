// Requests to the API, and the session.

/** The version of the Bare Metal API that the page uses. */
export const VERSION = '1.115';
/** The version of the Placement API in commands to copy. */
export const PLACEMENT_VERSION = '1.39';

const KEY = 'ironic-traits.session';
/** The URL of the service: the page is at ui/ below it. */
const BASE = new URL('..', location.href.replace(/#.*/, '')).href.replace(/\/$/, '');
/**
 * Parameters whose empty value is a filter: the fields with a facet. views/filters.js fills it when the page starts.
 *
 * @type {Set<string>}
 */
export const EMPTIES = new Set();
/**
 * How the service authenticates, as its /ui/login says.
 *
 * @type {{strategy: string | null}}
 */
export const service = { strategy: null };
/** @typedef {(message: string | null) => void} Listener gets why a session has ended, if there is something to say. */
/** @type {Set<Listener>} */
const listeners = new Set();

/** @typedef {{token: string, expires_at?: string, user?: string, user_id?: string, project?: string, project_id?: string, system?: boolean, roles?: string[]}} Session */
/** @typedef {Record<string, unknown>} Values {name: value, or list of values}. */

/** An error response, or none: status is 0 if the service does not answer. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {any} body
   */
  constructor(status, message, body = {}) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** The session of this tab: {token, expires_at, user, project, system, roles}; null without one. */
export const session = {
  value: read(),
  /**
   * @param {Session | null} value
   * @param {string | null} message
   */
  set(value, message = null) {
    this.value = value;
    try {
      if (value) sessionStorage.setItem(KEY, JSON.stringify(value));
      else sessionStorage.removeItem(KEY);
    } catch {
      // The browser stores nothing: the session ends when the page is loaded again.
    }
    listeners.forEach((listener) => listener(message));
  },
  expire() {
    this.set(null, 'Your session has ended. Log in again to go on where you were.');
  },
  /**
   * Return the function that ends it.
   *
   * @param {Listener} listener
   */
  listen(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** Whether the user may see what is of the whole system, such as workers and mirrors. */
export function isOperator() {
  return ['noauth', 'http_basic'].includes(service.strategy ?? '') || Boolean(session.value?.system);
}

/** @returns {Session | null} */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
  } catch {
    return null;
  }
}

/**
 * The sentences of the header Warning, of the documents whose responses had one: {document: [sentence, …]}.
 *
 * @type {WeakMap<object, string[]>}
 */
export const warnings = new WeakMap();

/**
 * Return the URL of a path of the API.
 *
 * @param {string} path
 */
export function url(path) {
  return BASE + path;
}

/**
 * Send a request, and return the document of the response; null if it has no body.
 *
 * Throws ApiError.
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {{signal?: AbortSignal, headers?: Record<string, string>}} [options]
 * @returns {Promise<any>}
 */
export async function request(method, path, body, { signal, headers = {} } = {}) {
  const token = session.value?.token;
  /** @type {RequestInit & {headers: Record<string, string>}} */
  const options = {
    method,
    signal,
    cache: 'no-store',
    redirect: 'error',
    headers: { Accept: 'application/json', 'X-OpenStack-Ironic-API-Version': VERSION, ...headers },
  };
  if (token) options.headers['X-Auth-Token'] = token;
  if (body !== undefined) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  let response;
  let text;
  try {
    response = await fetch(url(path), options);
    text = await response.text();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The service does not answer. Check that it runs, and your network; then try again.');
  }
  if (response.ok) return text ? withWarnings(documentOf(response.status, text), response.headers.get('Warning')) : null;
  if (response.status === 401 && token && token === session.value?.token) session.expire();
  throw failure(response.status, text, Boolean(token));
}

/**
 * @param {number} status
 * @param {string} text
 * @returns {any}
 */
function documentOf(status, text) {
  const document = parsed(text);
  if (document !== undefined) return document;
  throw new ApiError(status, 'The response is not JSON: something between the browser and the service has answered. Reload the page.');
}

/**
 * @param {any} document
 * @param {string | null} header
 */
function withWarnings(document, header) {
  if (header) warnings.set(document, [...header.matchAll(/"([^"]*)"/g)].map((match) => match[1]));
  return document;
}

/**
 * @param {string} path
 * @param {Parameters<typeof request>[3]} [options]
 */
export const get = (path, options) => request('GET', path, undefined, options);

/**
 * Return the ApiError of a response that failed. Its message is that of the Bare Metal API or of the Placement API.
 *
 * @param {number} status
 * @param {string} text
 * @param {boolean} hasToken whether the request had one.
 */
function failure(status, text, hasToken) {
  // The page of a proxy has no message: then it is that of the status.
  const body = parsed(text) ?? {};
  const inner = typeof body.error_message === 'string' ? (parsed(body.error_message) ?? body.error_message) : body.error_message;
  let message = inner?.faultstring ?? inner?.description ?? body.errors?.[0]?.detail ?? (typeof inner === 'string' ? inner : '');
  if (status === 401 && hasToken) message = 'Your session had ended, so the service refused this request. Try again.';
  else if (status === 401 && !message) message = 'The service needs a user and a password. Reload the page to enter them.';
  return new ApiError(status, message || `The service answered with status ${status}.`, body);
}

/**
 * Return the document of a text; undefined if it is not JSON.
 *
 * @param {string} text
 * @returns {any}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Return a query from its parameters. Empty values are left out, except of EMPTIES.
 *
 * @param {Values} parameters
 */
export function query(parameters) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && (each !== '' || EMPTIES.has(name))) pairs.append(name, String(each));
    }
  }
  const text = pairs.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  return text ? `?${text}` : '';
}

/** A list is longer than the caller wants. */
export class TooMany extends Error {
  message = 'The page cannot take so many. Add a filter.';
}

/**
 * Generate the pages of a list: the items of each. Throws TooMany when there are more than max.
 *
 * @param {string} path
 * @param {string} key
 * @param {{max: number, signal?: AbortSignal}} options
 */
export async function* pages(path, key, { max, signal }) {
  let number = 0;
  /** @type {string | null} */
  let next = path;
  while (next) {
    const page = await get(next, { signal });
    number += page[key].length;
    if (number > max) throw new TooMany();
    yield page[key];
    next = page.next ? nextPath(page.next) : null;
  }
}

/**
 * Return the path of a link to the next page. The host of the link may differ behind a proxy.
 *
 * @param {string} link
 */
export function nextPath(link) {
  const { pathname, search } = new URL(link);
  return pathname.slice(pathname.indexOf('/v1/')) + search;
}
