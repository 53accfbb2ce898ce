// The pages of the list of nodes: which one the place names, and links to the others.
//
// A page begins after the node "marker", or ends before the node "before", or is the last one ("end"). "from" is the
// number of nodes before it, at the time when somebody went to it.
import { number } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { SIZE, stored } from '../stored.js';
import { useRef } from '../vendor/hooks.js';
import { changed } from './filters.js';

/** @import { Values } from '../api.js' */
/** @typedef {{next?: string | null, nodes: {uuid: string}[]}} List */

/** The choice of numbers of nodes on a page. */
export const SIZES = [20, 50, 100, 500];
const USUAL_SIZE = 50;
const DESCENDING = 'desc';

/**
 * Return the number of nodes on a page: that of the place, else the one that the browser remembers.
 *
 * @param {URLSearchParams} parameters of the place.
 */
export function sizeOf(parameters) {
  const size = Number(parameters.get('limit') ?? stored(SIZE));
  return SIZES.includes(size) ? size : USUAL_SIZE;
}

/**
 * Return the parameters of a request for the page, and whether its nodes come in reverse order.
 *
 * @param {URLSearchParams} parameters of the place.
 * @returns {{paging: Values, isReversed: boolean}}
 */
export function pageOf(parameters) {
  const isReversed = parameters.has('before') || parameters.has('end');
  const isDescending = (parameters.get('sort_dir') === DESCENDING) !== isReversed;
  return {
    isReversed,
    paging: { ...orderOf(parameters), sort_dir: isDescending ? DESCENDING : null, limit: sizeOf(parameters), marker: parameters.get(isReversed ? 'before' : 'marker') },
  };
}

/**
 * Return the parameters of the order of a list. At first it is sorted by name.
 *
 * @param {URLSearchParams} parameters of the place.
 */
export function orderOf(parameters) {
  return { sort_key: parameters.get('sort_key') ?? 'name', sort_dir: parameters.get('sort_dir') };
}

/**
 * Return the parameters of the other pages: {first, previous, next, last}, each null if there is none; and the numbers
 * of the first and the last node of this page, null if they are not known.
 *
 * @param {URLSearchParams} parameters of the place.
 * @param {List} list the page, in the order of the table.
 * @param {number | undefined} total
 */
export function otherPages(parameters, list, total) {
  const { nodes, next: more } = list;
  const { isReversed } = pageOf(parameters);
  const size = sizeOf(parameters);
  // The numbers of a page only hold with its size.
  const limit = { limit: String(size) };
  const isBegun = isReversed || parameters.has('marker');
  const hasPrevious = isReversed ? Boolean(more) : isBegun;
  const hasNext = isReversed ? parameters.has('before') : Boolean(more);
  const known = parameters.has('end') ? (total ?? NaN) - nodes.length : isBegun ? Number(parameters.get('from') ?? NaN) : 0;
  const isKnown = known >= 0 && (total === undefined || known + nodes.length <= total);
  const at = (/** @type {number} */ from, /** @type {Values} */ page) => changed(parameters, { ...limit, from: isKnown ? String(from) : '', ...page });
  return {
    first: isBegun ? changed(parameters, {}) : null,
    previous: !hasPrevious || !nodes.length ? null : isKnown && known <= size ? changed(parameters, {}) : at(known - size, { before: nodes[0].uuid }),
    next: hasNext && nodes.length ? at(known + nodes.length, { marker: nodes[nodes.length - 1].uuid }) : null,
    last: hasNext ? changed(parameters, { ...limit, end: '1' }) : null,
    begin: isKnown ? known + 1 : null,
    end: isKnown ? known + nodes.length : null,
  };
}

const LABELS = /** @type {const} */ ([['first', 'First'], ['previous', 'Previous'], ['next', 'Next'], ['last', 'Last']]);

/**
 * Where the page is in the list, and links to the others.
 *
 * @param {{parameters: URLSearchParams, list: List, total?: number, isStale: boolean}} properties isStale: whether
 * the list is that of the last parameters, while that of these is loading. Its links stay, so that they keep the focus,
 * and lead to the present place.
 */
export function NodePager({ parameters, list, total, isStale }) {
  const shown = useRef(/** @type {ReturnType<typeof otherPages> | null} */ (null));
  if (!isStale || !shown.current) shown.current = otherPages(parameters, list, total);
  const pages = shown.current;
  if (!LABELS.some(([name]) => pages[name])) return null;
  const range = pages.begin !== null && `${number(pages.begin)}–${number(pages.end ?? 0)}${total === undefined ? '' : ` of ${number(total)}`}`;
  return html`<nav class="pager" aria-label="Pages">
    <span class="muted range">${range}</span>
    ${LABELS.map(([name, label]) => pages[name] && html`<a key=${name} class="button" rel=${name === 'next' ? 'next' : undefined} aria-label=${`${label} page`}
      href=${isStale ? location.hash : link(['nodes'], pages[name])} aria-disabled=${isStale ? 'true' : undefined}>${label}</a>`)}
  </nav>`;
}
