// The state of the page is in the fragment of its URL: #/VIEW/…?PARAMETERS. So a link shows the same, and no server
// gets to see it.
import { query } from './api.js';
import { useEffect, useLayoutEffect, useRef, useState } from './vendor/hooks.js';

/** @import { Values } from './api.js' */

/** The parameters that say which page of a list is shown. */
export const PAGE_PARAMETERS = ['marker', 'before', 'end', 'from'];
/** The event of the window when the user goes to the present place: what it shows is loaded again. */
export const AGAIN = 'ironic-traits.again';

/**
 * Return where a URL leads to: {hash, path: [segment, …], parameters: URLSearchParams}.
 *
 * @param {{hash: string}} url by default that of the page.
 */
export function place({ hash } = location) {
  const [path, ...search] = hash.replace(/^#\/?/, '').split('?');
  return { hash, path: path.split('/').filter(Boolean).map(decoded), parameters: new URLSearchParams(search.join('?')) };
}

/**
 * Return a segment of a path. One that nobody has encoded stays as it is.
 *
 * @param {string} segment
 */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * {view: its last place, without that of a single object}.
 *
 * @type {Record<string, string>}
 */
const visited = {};

/**
 * Return the link to the last place of a view in this tab: a list with its filters.
 *
 * @param {string} view
 */
export function placeOf(view) {
  return visited[view] ?? link([view]);
}

/** Whether the user may leave for a place; null for any. */
let mayGo = /** @type {((next: ReturnType<typeof place>) => boolean) | null} */ (null);

/**
 * Ask before the place changes, also by the browser's "back". Returns the end of this.
 *
 * @param {NonNullable<typeof mayGo>} ask
 */
export function guard(ask) {
  mayGo = ask;
  return () => {
    mayGo = null;
  };
}

/** Whether the user may leave this page. */
export function mayLeave() {
  return !mayGo || mayGo(place({ hash: '' }));
}

/** Return the place, and render again when it changes. */
export function usePlace() {
  const [current, setCurrent] = useState(place);
  const shown = useRef(location.hash || '#');
  // Not useEffect, which runs later: a change of the place before it would be lost.
  useLayoutEffect(() => {
    // Not the present place, which is already the next one after a quick "back": a form would keep what was entered.
    const update = (/** @type {HashChangeEvent} */ event) => {
      const next = place(new URL(event.newURL));
      if (mayGo && !mayGo(next)) history.pushState(null, '', shown.current);
      else {
        shown.current = next.hash || '#';
        setCurrent(next);
      }
    };
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  if (current.path.length === 1) visited[current.path[0]] = current.hash;
  return current;
}

/**
 * Show a title in the tab of the browser.
 *
 * @param {string | null | undefined} title none leaves the present one.
 */
export function useTitle(title) {
  useEffect(() => {
    if (title) document.title = `${title} – ironic-traits`;
  }, [title]);
}

/**
 * Return the link to a place.
 *
 * @param {string[]} path
 * @param {Values} parameters
 */
export function link(path, parameters = {}) {
  return `#/${path.map(encodeURIComponent).join('/')}${query(parameters)}`;
}

/**
 * Return all parameters of a place: {name: [value, …]}.
 *
 * @param {URLSearchParams} parameters
 */
export function all(parameters) {
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)]));
}

/** Return the fragment of the present place, on its first page. */
export function placeWithoutPage() {
  const { path, parameters } = place();
  for (const name of PAGE_PARAMETERS) parameters.delete(name);
  return link(path.length ? path : ['overview'], all(parameters));
}

/**
 * Go to a place; load its data again if it is the present one. With replace, the browser's "back" skips this one.
 *
 * @param {string[]} path
 * @param {Values} parameters
 */
export function go(path, parameters, { replace = false } = {}) {
  const target = link(path, parameters);
  if (target === location.hash) dispatchEvent(new Event(AGAIN));
  else if (replace) location.replace(target);
  else location.hash = target;
}
