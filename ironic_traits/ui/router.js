// The state of the page is in the fragment of its URL: #/VIEW/…?PARAMETERS. So a link shows the same, and no server
// gets to see it.
import { query } from './api.js';
import { useEffect, useState } from './vendor/hooks.js';

/** Return where the page is: {path: [segment, …], parameters: URLSearchParams}. */
export function place() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decodeURIComponent), parameters: new URLSearchParams(search) };
}

/** Return the place, and render again when it changes. */
export function usePlace() {
  const [current, setCurrent] = useState(place);
  useEffect(() => {
    const update = () => setCurrent(place());
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return current;
}

/** Return the link to a place; parameters: {name: value, or list of values}. */
export function link(path, parameters = {}) {
  return `#/${path.map(encodeURIComponent).join('/')}${query(parameters)}`;
}

/** Go to a place. With replace, the browser's "back" skips the present one. */
export function go(path, parameters, { replace = false } = {}) {
  const target = link(path, parameters);
  if (target === location.hash) return;
  if (replace) location.replace(target);
  else location.hash = target;
}
