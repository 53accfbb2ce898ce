// How many nodes of each class were available in the last days. It follows from the nodes of now and the history.
import { get, query } from '../api.js';
import { useData } from '../data.js';
import { number } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Problem, Time } from '../widgets.js';
import { MAX_CLASSES } from './capacity.js';
import { TRANSITION, newest } from './node_timeline.js';

/** @typedef {[number, number]} Point a time in milliseconds, and the number of nodes from then on. */
/** @typedef {{name: string, points: Point[], now: number, lowest: number}} Series */

const DAYS = 30;
const DAY = 86400000;
/** The most entries that are read: with more of them, the graphs begin later. */
const MAX_ENTRIES = 10000;
const STATE = 'available';
/** The most classes that are shown: those whose numbers have changed most. */
const SHOWN = 12;
const [WIDTH, HEIGHT] = [160, 28];

/** A card with the graphs. They are read when they are asked for: the history may be long. */
export function Available() {
  const [isOpen, setOpen] = useState(false);
  const state = useData(isOpen ? 'available' : null, read);
  return html`<${Card} title="Available nodes over time">
    ${(!isOpen || state.error) && html`<button type="button" onClick=${() => (isOpen ? state.reload() : setOpen(true))}>Show the last ${DAYS} days</button>`}
    <${Problem} error=${state.error} />
    ${isOpen && !state.data && state.loading && html`<${Busy}>Reading the history …<//>`}
    ${state.data && html`<${Graphs} ...${state.data} />`}
  <//>`;
}

/** Return {series, since, isCut}: the series of each class since a time. */
async function read(signal) {
  const until = Date.now();
  // The history has the transitions of children, too.
  const { facets } = await get(`/v1/facets${query({ by: 'resource_class', provision_state: STATE, limit: MAX_CLASSES, include_children: true })}`, { signal });
  const present = Object.fromEntries(facets.resource_class.map(({ value, nodes }) => [value ?? '', nodes]));
  let since = until - DAYS * DAY;
  let isCut = false;
  const entries = [];
  // A node may be available from the beginning: that of a mirror, for example.
  for (const kind of ['node', 'provisioning']) {
    const { history, next } = await newest({ event_type: kind, since: new Date(since).toISOString() }, MAX_ENTRIES, signal);
    entries.push(...history);
    if (next) {
      isCut = true;
      since = Math.max(since, Date.parse(history.at(-1).created_at));
    }
  }
  return { series: seriesOf(present, entries.filter(({ created_at: at }) => Date.parse(at) >= since), since, until), since, isCut };
}

/**
 * Return a series for each class: the present numbers, and backwards from them what each entry has changed.
 *
 * Nodes that are deleted have no class any more, so they are not counted.
 *
 * @param {Record<string, number>} present {class: available nodes}.
 * @param {{created_at: string, event: string, provision_state?: string | null,
 *   node_resource_class?: string | null}[]} entries of the history, in any order.
 * @param {number} since when the series begin.
 * @param {number} until the present.
 * @returns {Series[]}
 */
export function seriesOf(present, entries, since, until) {
  /** @type {Map<string, [number, number][]>} */
  const changes = new Map(Object.keys(present).map((name) => [name, []]));
  for (const entry of entries) {
    const change = changeOf(entry);
    if (!change || !entry.node_resource_class) continue;
    const of = changes.get(entry.node_resource_class) ?? [];
    changes.set(entry.node_resource_class, of);
    of.push([Date.parse(entry.created_at), change]);
  }
  return [...changes].filter(([name]) => name).map(([name, of]) => {
    const now = present[name] ?? 0;
    let level = now;
    /** @type {Point[]} */
    const points = [[until, now]];
    for (const [at, change] of of.sort(([one], [other]) => other - one)) {
      points.unshift([at, level]);
      level -= change;
    }
    points.unshift([since, level]);
    return { name, points, now, lowest: Math.min(...points.map(([, nodes]) => nodes)) };
  });
}

/**
 * Return 1 if a node became available, -1 if it was no longer, else 0.
 *
 * @param {{event: string, provision_state?: string | null}} entry
 */
function changeOf({ event, provision_state: state }) {
  const [, , from, to] = TRANSITION.exec(event) ?? [];
  if (from) return Number(to === STATE) - Number(from === STATE);
  return Number(state === STATE);
}

function Graphs({ series, since, isCut }) {
  const spread = ({ points }) => Math.max(...points.map(([, nodes]) => nodes)) - Math.min(...points.map(([, nodes]) => nodes));
  const shown = [...series].sort((one, other) => spread(other) - spread(one) || other.now - one.now).slice(0, SHOWN);
  if (!series.length) return html`<p class="muted">No node has a resource class.</p>`;
  return html`
    <table class="labelled"><thead><tr><th scope="col">Class</th><th scope="col" class="number">then</th><th scope="col" class="number">lowest</th><th scope="col" class="number">now</th><th scope="col"><span class="visually-hidden">Graph</span></th></tr></thead>
      <tbody>${shown.map(({ name, points, now, lowest }) => html`<tr key=${name}>
        <td><a href=${link(['nodes'], { resource_class: name, provision_state: STATE, include_children: 'true' })}>${name}</a></td>
        <td class="number" data-label="then">${number(points[0][1])}</td><td class="number" data-label="lowest">${number(lowest)}</td><td class="number" data-label="now">${number(now)}</td>
        <td class="wrap"><${Graph} points=${points} /></td>
      </tr>`)}</tbody></table>
    <p class="muted">In state “${STATE}” since <${Time} at=${new Date(since).toISOString()} />${isCut && `: the page reads at most ${number(MAX_ENTRIES)} changes`}.
      ${series.length > SHOWN && ` Not shown: ${number(series.length - SHOWN)} with fewer changes.`} Nodes that are deleted are not counted.</p>`;
}

/** A line of steps through the points, from 0 to the highest. */
function Graph({ points }) {
  const [begin, end] = [points[0][0], points.at(-1)[0]];
  const highest = Math.max(1, ...points.map(([, nodes]) => nodes));
  const x = (at) => (((at - begin) / Math.max(1, end - begin)) * WIDTH).toFixed(1);
  const y = (nodes) => (HEIGHT - 1 - (nodes / highest) * (HEIGHT - 2)).toFixed(1);
  const steps = points.map(([at, nodes], index) => (index ? `H${x(at)}V${y(nodes)}` : `M${x(at)} ${y(nodes)}`)).join('');
  return html`<svg class="graph" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} width=${WIDTH} height=${HEIGHT} preserveAspectRatio="none" aria-hidden="true">
    <path class="area" d=${`${steps}V${HEIGHT}H0Z`} /><path class="line" d=${steps} />
  </svg>`;
}
