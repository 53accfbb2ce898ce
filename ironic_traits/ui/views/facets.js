// The facets beside the list of nodes: how many nodes have each value, and each trait.
import { get, query } from '../api.js';
import { useData } from '../data.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { useRef, useState } from '../vendor/hooks.js';
import { Busy, Count, Problem } from '../widgets.js';
import { FIELDS, changed, filtersOf, isWithout, withTrait, withoutField } from './filters.js';

/** The most values of a field that are shown: those that most nodes have. */
export const MAX_VALUES = 100;
/** The most traits of a namespace that are shown without a search, and with one. */
const MAX_TRAITS = 12;
const MAX_FOUND = 200;
/** The most traits that the page asks for. */
const MAX_COUNTED = 1000;
const OPEN = new Set(['provision_state', 'resource_class']);

/**
 * The facets.
 *
 * @param turn another number has the facet of traits loaded again.
 * @param isQuiet whether the list beside it shows an error: it has the same cause.
 */
export function Facets({ parameters, fields, turn, isQuiet }) {
  const filters = filtersOf(parameters);
  const traits = useData(`${query(filters)} ${turn}`, (signal) => get(`/v1/facets${query({ by: 'traits', limit: MAX_COUNTED, ...filters })}`, { signal }));
  const { sorted, events } = useOrder();
  return html`<aside class="card facets ${fields.loading ? 'stale' : ''}" aria-label="Filters with counts" ...${events}>
    <${Traits} state=${traits} sorted=${sorted} parameters=${parameters} isQuiet=${isQuiet || fields.error} />
    ${!isQuiet && html`<${Problem} error=${fields.error} retry=${fields.reload} />`}
    ${!fields.data && fields.loading && html`<${Busy} />`}
    ${fields.data &&
    Object.entries(FIELDS).map(
      ([name, label]) => html`<${Field} key=${name} name=${name} label=${label} values=${sorted(name, fields.data.facets[name])} parameters=${parameters} />`,
    )}
  </aside>`;
}

/**
 * Return {sorted, events}: a function that sorts the values of a facet, and the events of the facets that it needs.
 *
 * While the pointer or the focus is in the facets, values keep their order, so that none moves away from the pointer.
 */
function useOrder() {
  const isInside = useRef(false);
  const kept = useRef({});
  const enter = () => (isInside.current = true);
  const leave = () => (isInside.current = false);
  const sorted = (name, values) => {
    const places = new Map(isInside.current ? kept.current[name] : []);
    values.forEach(({ value }) => places.has(value) || places.set(value, places.size));
    kept.current[name] = places;
    return [...values].sort((one, other) => places.get(one.value) - places.get(other.value));
  };
  return { sorted, events: { onPointerEnter: enter, onPointerLeave: leave, onFocusIn: enter, onFocusOut: leave } };
}

function Field({ name, label, values, parameters }) {
  const isChosen = parameters.has(name) || isWithout(parameters, name);
  if (values.length <= 1 && !isChosen && (values[0]?.value ?? '') === '') return null;
  return html`<details open=${OPEN.has(name) || isChosen}>
    <summary>${label}</summary>
    <ul class="values" tabindex="0" aria-label=${label}>
      ${values.slice(0, MAX_VALUES).map(({ value, nodes }) => html`<li key=${String(value)}><${Value} ...${{ name, value, nodes, parameters }} /></li>`)}
      ${values.length > MAX_VALUES && html`<li class="muted">and more: these are the ${MAX_VALUES} that most nodes have. Filter the nodes to see others</li>`}
    </ul>
  </details>`;
}

function Value({ name, value, nodes, parameters }) {
  const text = value === null || value === '' ? '(none)' : String(value);
  const filtered = value === null ? withoutField(parameters, name) : changed(parameters, { [name]: String(value) });
  return html`<div class="value">
    <a href=${link(['nodes'], filtered)} title=${text}>${text}</a>
    <span></span><${Count} value=${nodes} />
  </div>`;
}

function Traits({ state, sorted, parameters, isQuiet }) {
  const [prefix, setPrefix] = useState('');
  const values = sorted('traits', state.data?.facets.traits ?? []).filter(({ value }) => value.includes(prefix.toUpperCase()));
  const groups = grouped(values);
  return html`<details open>
    <summary>Traits</summary>
    <input class="mono" type="search" aria-label="Find a trait" placeholder="Find a trait" value=${prefix}
      onInput=${(event) => setPrefix(event.target.value)} size="24" />
    ${!isQuiet && html`<${Problem} error=${state.error} retry=${state.reload} />`}
    ${state.loading && !state.data && html`<${Busy} />`}
    <div class="values ${state.loading ? 'stale' : ''}" tabindex="0" role="group" aria-label="Traits of these nodes">
      ${state.data && !values.length && html`<p class="muted">No trait.</p>`}
      ${[...groups].map(
        ([name, members]) => html`<div class="namespace">${name}_</div>
          <ul>${members.slice(0, prefix ? MAX_FOUND : MAX_TRAITS).map((each) => html`<li key=${each.value}><${TraitValue} ...${each} prefix=${`${name}_`} parameters=${parameters} /></li>`)}
          ${members.length > MAX_TRAITS && !prefix && html`<li class="muted">and ${members.length - MAX_TRAITS} more: find them above</li>`}
          ${members.length > MAX_FOUND && prefix && html`<li class="muted">and ${members.length - MAX_FOUND} more: enter more of the name</li>`}</ul>`,
      )}
      ${state.data?.facets.traits.length === MAX_COUNTED && html`<p class="muted">Only the ${MAX_COUNTED} traits that most nodes have are here.</p>`}
    </div>
  </details>`;
}

/** A trait; prefix: the beginning of its name, which stands above the group. */
function TraitValue({ value, nodes, prefix, parameters }) {
  const to = (kind) => link(['nodes'], withTrait(parameters, kind, value));
  return html`<div class="value">
    <span class="name mono"><span class="visually-hidden">${prefix}</span>${value.slice(prefix.length)}</span>
    <${Count} value=${nodes} />
    <span class="pm">
      <a href=${to('traits')} aria-label=${`Nodes with ${value}`} title="must have it">+</a>
      <a href=${to('not-traits-any')} aria-label=${`Nodes without ${value}`} title="must not have it">−</a>
    </span>
  </div>`;
}

/** Return the namespace of a trait: HW_CPU_X86_VMX is in HW_CPU, CUSTOM_X in CUSTOM. */
function namespace(name) {
  const words = name.split('_');
  return words[0] === 'HW' || words[0] === 'COMPUTE' ? words.slice(0, 2).join('_') : words[0];
}

/** Return the traits by namespace: {namespace: [trait, …]}. Custom ones come first: they are what operators filter by. */
function grouped(values) {
  const groups = new Map();
  if (values.some(({ value }) => namespace(value) === 'CUSTOM')) groups.set('CUSTOM', []);
  for (const each of values) {
    const name = namespace(each.value);
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return groups;
}
