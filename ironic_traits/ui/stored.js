// What the browser remembers between visits. One that stores nothing forgets it with the tab.

/** The name of the choice of rows: '' or 'compact'. */
export const ROWS = 'rows';
/** The names of the columns of the list of nodes, with commas between them, and of the number of its rows. */
export const COLUMNS = 'columns';
export const SIZE = 'size';

/**
 * Return what is stored under a name; null if nothing is.
 *
 * @param {string} name
 */
export function stored(name) {
  try {
    return localStorage.getItem(`ironic-traits.${name}`);
  } catch {
    return null;
  }
}

/**
 * Store a text under a name; null removes it.
 *
 * @param {string} name
 * @param {string | null} value
 */
export function store(name, value) {
  try {
    if (value === null) localStorage.removeItem(`ironic-traits.${name}`);
    else localStorage.setItem(`ironic-traits.${name}`, value);
  } catch {
    // The choice ends with the tab.
  }
}
