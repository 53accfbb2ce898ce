// The nodes by rack, or by another group: a tile for each group, with what is free there, and the odd node out.
import { get, query, request } from '../api.js';
import { useData } from '../data.js';
import { number, plural } from '../format.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Empty, Problem } from '../widgets.js';
import { Legend, Parts, figuresBy, filtersFor, lostOf } from './capacity.js';
import { FIELDS } from './filters.js';

/** Fields that divide the nodes, beside the beginnings of traits. */
const KEYS = ['resource_class', 'owner', 'shard', 'conductor_group', 'lessee', 'driver'];
/** Those that a capacity request can break figures down by. */
const DIVIDERS = ['resource_class', 'owner', 'shard'];
/** The most groups of a field, and the tiles that are shown at first. */
const MAX_GROUPS = 1000;
const SHOWN = 60;
/** The most differences that a tile names. Smaller groups have no odd node. */
const MAX_ODD = 3;
const MIN_NODES = 3;
const ORDER = new Intl.Collator('en', { numeric: true });

/** Return the beginnings that several custom traits have in common, those of racks first: ["CUSTOM_RACK_", …]. */
export function prefixes(names) {
  const counts = new Map();
  for (const name of names) {
    const prefix = /^(CUSTOM_.*_)[^_]+$/.exec(name)?.[1];
    if (prefix) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  const several = [...counts].filter(([, count]) => count > 1).map(([prefix]) => prefix);
  const isRack = (prefix) => Number(/RACK|CABINET|CHASSIS/.test(prefix));
  return several.sort((one, other) => isRack(other) - isRack(one) || ORDER.compare(one, other));
}

/** Return a promise of {groups: [{value, matching, free, held, unavailable}], without: how many nodes are in none}. */
async function groupsOf(key, signal) {
  if (key.startsWith('trait:') || DIVIDERS.includes(key)) return { groups: await figuresBy(key, signal), without: 0 };
  if (!Object.hasOwn(FIELDS, key) || key === 'maintenance') throw new Error(`“${key}” does not divide the nodes. Group by the beginning of traits, such as trait:CUSTOM_RACK_, or by a field: ${KEYS.join(', ')}.`);
  const { facets } = await get(`/v1/facets${query({ by: key, limit: MAX_GROUPS })}`, { signal });
  const values = facets[key].map(({ value }) => value).filter(Boolean);
  const without = facets[key].reduce((sum, { value, nodes }) => sum + (value ? 0 : nodes), 0);
  if (!values.length) return { groups: [], without };
  const flavors = values.map((value) => ({ name: value, [key]: value }));
  const { flavors: counted } = await request('POST', '/v1/capacity', { flavors, include_exclusive: true }, { signal });
  return { groups: counted.map((group) => ({ ...group, value: group.name })), without };
}

/**
 * Return in what single nodes of a group differ from all others of it: [{text, filters}].
 *
 * @param facets those of the group, by resource_class, driver and traits; nodes: the number of its nodes.
 */
export function oddOnes({ nodes, facets }) {
  if (nodes < MIN_NODES) return [];
  const odd = [];
  for (const name of ['resource_class', 'driver']) {
    const values = facets[name] ?? [];
    const single = values.find((each) => each.nodes === 1 && each.value);
    if (values.length === 2 && single) odd.push({ text: `${FIELDS[name] ?? name} ${single.value}`, filters: { [name]: single.value } });
  }
  for (const { value, nodes: count } of facets.traits ?? []) {
    if (count === nodes - 1) odd.push({ text: `lacks ${value}`, filters: { 'not-traits-any': value } });
    else if (count === 1) odd.push({ text: `has ${value}`, filters: { 'traits-any': value } });
  }
  return odd;
}

export function Racks({ parameters }) {
  const traits = useData('traits', (signal) => get('/v1/facets?by=traits&limit=1000', { signal }));
  const known = traits.data ? prefixes(traits.data.facets.traits.map(({ value }) => value)) : [];
  const key = parameters.get('key') || (traits.data ? (known[0] ? `trait:${known[0]}` : KEYS[0]) : null);
  const state = useData(key, async (signal) => ({ divider: key, ...(await groupsOf(key, signal)) }));
  const error = state.error ?? (key ? null : traits.error);
  return html`
    <div class="title"><h1>Racks</h1><span class="muted" role="status">${state.data && !state.isStale ? plural(state.data.groups.length, 'group') : ''}</span></div>
    <section class="card" aria-label="Groups">
      <div class="tools">
        <${Key} key=${key} value=${key} prefixes=${known} />
        <span class="spread"></span>
        ${key && (key.startsWith('trait:') || KEYS.includes(key)) && html`<${Block} divider=${key} />`}
      </div>
      <${Legend}>a bar is all nodes of a group<//>
      <${Problem} error=${error} retry=${() => [traits, state].forEach((each) => each.reload())} at=${state.at} />
      ${!state.data && !error && html`<${Busy}>Counting …<//>`}
      ${state.data?.without > 0 && html`<p class="muted">${plural(state.data.without, 'node')} without a value</p>`}
      ${state.data && html`<${Tiles} key=${state.data.divider} ...${state.data} isStale=${state.isStale} />`}
    </section>`;
}

/** The choice of what divides the nodes. */
function Key({ value, prefixes: known }) {
  const change = (event) => {
    event.preventDefault();
    const chosen = String(new FormData(event.target).get('key')).trim();
    if (chosen) go(['racks'], { key: chosen.replace(/^(?:trait:|(?=(?:CUSTOM|HW|STORAGE|COMPUTE)_))(.*)/i, (_, name) => `trait:${name.toUpperCase()}`) });
  };
  return html`<form class="row" onSubmit=${change}>
    <label>Grouped by <input name="key" list="group-keys" class="mono" size="26" defaultValue=${value ?? ''} autocomplete="off" /></label>
    <datalist id="group-keys">${[...known.map((prefix) => `trait:${prefix}`), ...KEYS].map((each) => html`<option value=${each} />`)}</datalist>
    <button type="submit">Show</button>
  </form>`;
}

/** A question: where is a group with so many nodes that match? */
function Block({ divider }) {
  const submit = (event) => {
    event.preventDefault();
    go(['why'], { count: String(new FormData(event.target).get('count')), key: divider, policy: 'affinity' });
  };
  return html`<form class="row" onSubmit=${submit}>
    <label>A block in one group <input name="count" type="number" min="1" required placeholder="number of nodes" /></label>
    <button type="submit">Find</button>
  </form>`;
}

function Tiles({ divider, groups, isStale }) {
  const [hasAll, setAll] = useState(false);
  if (!groups.length) return html`<${Empty} title="There is no such group."><p>Group by the beginning of traits, such as trait:CUSTOM_RACK_, or by a field.</p><//>`;
  const sorted = [...groups].sort((one, other) => Number(one.value === null) - Number(other.value === null) || ORDER.compare(one.value, other.value));
  return html`<ul class="tiles ${isStale ? 'stale' : ''}">
      ${sorted.slice(0, hasAll ? undefined : SHOWN).map((group) => html`<li key=${group.value}><${Tile} divider=${divider} group=${group} /></li>`)}
    </ul>
    ${!hasAll && sorted.length > SHOWN && html`<div class="buttons"><button type="button" onClick=${() => setAll(true)}>Show ${plural(sorted.length - SHOWN, 'other group')}</button></div>`}`;
}

function Tile({ divider, group }) {
  const { value, matching, free, held, unavailable } = group;
  const isTrait = divider.startsWith('trait:');
  const filters = filtersFor(divider, value);
  const [lost, reasons] = lostOf(unavailable);
  const name = value === null ? '(none)' : value.replace(/^CUSTOM_/, '');
  // The list of nodes has no filter for nodes without any trait that begins so.
  return html`<div class="tile">
    <h2>${isTrait && value === null ? name : html`<a href=${link(['nodes'], filters)} title=${value ?? name}>${name}</a>`} <span class="count">${plural(matching, 'node')}</span></h2>
    <${Parts} free=${free} held=${held} lost=${lost} whole=${matching || 1} />
    <p>${number(free)} free, ${number(held)} held, ${number(lost)} unavailable${reasons && html`<span class="reasons">${reasons}</span>`}</p>
    ${matching >= MIN_NODES && Object.keys(filters).length > 0 && html`<${Odd} filters=${filters} />`}
  </div>`;
}

/** Nodes that differ from all others of a group. */
function Odd({ filters }) {
  const path = `/v1/facets${query({ by: 'resource_class,driver,traits', limit: MAX_GROUPS, ...filters })}`;
  const { data, error } = useData(path, (signal) => get(path, { signal }));
  if (error) return html`<p class="muted">The odd node out is not known: ${error.message}</p>`;
  const odd = data ? oddOnes(data) : [];
  if (!odd.length) return null;
  return html`<p>One ${odd.slice(0, MAX_ODD).map(({ text, filters: more }, index) => html`${index > 0 && ', one '}<a href=${link(['nodes'], { ...filters, ...more })}>${text}</a>`)}${odd.length > MAX_ODD && `, and ${number(odd.length - MAX_ODD)} more`}</p>`;
}
