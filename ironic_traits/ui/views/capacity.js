// How many nodes are free for each flavor, and what would change that.
import { get, request } from '../api.js';
import { useData } from '../data.js';
import { curl, number, plural } from '../format.js';
import { FieldError, atTrait, fieldsOf, inField, namesIn, useFields } from '../forms.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Command, Empty, Problem, Time } from '../widgets.js';
import { Drift, Exclusive, Firmware } from './drift.js';
import { NovaFlavor, TraitField, Wrong, marks } from './fields.js';
import { withoutField } from './filters.js';
import { listOf } from './requests.js';

/** The fields of the form, as they are in the URL. (An input named "remove" would hide the method of its form.) */
const FIELDS = ['nova', 'flavors', 'images', 'without', 'nodes', 'gains', 'loses', 'by'];
const EXAMPLE = `{
  "gold": {"resources:CUSTOM_GOLD": "1"},
  "vmx": {"trait:HW_CPU_X86_VMX": "required"}
}`;
const IMAGES = '{"sealed": {"trait:CUSTOM_MEASURED_BOOT": "required"}}';
/** What stands for all flavors of nova. */
const ALL = '*';
const GROUPS = ['resource_class', 'owner', 'shard'];
/** The most resource classes that get a bar when no flavor is named. */
export const MAX_CLASSES = 100;

/** Return what-if parts of the body: {without, with}, without those that are empty. */
function supposed(parameters) {
  const names = (name) => (parameters.get(name) ?? '').split(/[\s,]+/).filter(Boolean);
  const change = { add: namesIn(parameters.get('gains') ?? ''), remove: namesIn(parameters.get('loses') ?? '') };
  const traits = Object.fromEntries(Object.entries(change).filter(([, each]) => each.length));
  const nodes = names('nodes');
  const where = nodes.length ? nodes.map((node) => ({ node, ...traits })) : [{ where: {}, ...traits }];
  return {
    ...(names('without').length && { without: names('without') }),
    ...(Object.keys(traits).length && { with: where }),
    ...(parameters.get('by') && { by: [parameters.get('by')] }),
  };
}

export function Capacity({ parameters }) {
  const nova = parameters.get('nova');
  let flavors;
  let images;
  let wrong = null;
  try {
    flavors = inField('flavors', () => listOf(parameters.get('flavors') ?? '', 'flavors', 'extra_specs'));
    images = inField('images', () => listOf(parameters.get('images') ?? '', 'images', 'properties'));
    if (nova && flavors) throw new FieldError('nova', 'Name flavors of nova, or paste others.');
  } catch (error) {
    wrong = error;
  }
  const [turn, setTurn] = useState(0);
  const key = wrong ? null : JSON.stringify([nova, flavors, supposed(parameters)]);
  const state = useData(key, async (signal) => {
    if (nova) {
      const body = { nova_flavors: nova === ALL ? true : nova.split(',').map((name) => name.trim()).filter(Boolean), ...supposed(parameters) };
      return { ...(await request('POST', '/v1/capacity', body, { signal })), body };
    }
    if (!flavors && !parameters.get('by')) {
      const body = { ...allBy('resource_class'), ...supposed(parameters) };
      const { warnings, flavors: [counted] } = await request('POST', '/v1/capacity', body, { signal });
      const found = named(counted.by.resource_class);
      return { warnings, flavors: found.some(({ value }) => value) ? found.slice(0, MAX_CLASSES) : [], body, isCut: found.length > MAX_CLASSES, isByClass: true };
    }
    const all = flavors ?? (await classes(signal)).filter(({ value }) => value).map(({ value }) => ({ name: value, resource_class: value }));
    const body = { flavors: flavors ?? all.slice(0, MAX_CLASSES), ...(!flavors && { include_exclusive: true }), ...supposed(parameters) };
    if (!all.length) return { flavors: [], warnings: [], body, isByClass: !flavors };
    return { ...(await request('POST', '/v1/capacity', body, { signal })), body, isCut: all.length > body.flavors.length, isByClass: !flavors };
  }, turn);
  const misnamed = atTrait(state.error, ['gains', 'loses'], parameters);
  return html`
    <div class="title"><h1>Capacity</h1><span class="muted">${flavors || nova ? 'by flavor' : 'by resource class'}</span></div>
    <div class="columns why">
      <${Form} parameters=${parameters} wrong=${wrong ?? misnamed} />
      <div class="stack">
        <section class="card" aria-label="Capacity">
          <${Problem} error=${misnamed ? null : state.error} retry=${state.reload} at=${state.at} />
          ${!state.data && state.loading && html`<${Busy}>Counting …<//>`}
          ${state.data && html`<${Result} ...${state.data} loading=${state.loading} />`}
        </section>
        ${state.data?.flavors.length > 0 &&
        html`<${Card} title="The same with a command"><${Command} label="curl">${curl('/v1/capacity', { method: 'POST', body: state.data.body })}<//><//>`}
        <${Promises} />
        ${!wrong && html`<${Drift} flavors=${flavors} images=${images} turn=${turn} />`}
        ${!wrong && html`<${Exclusive} flavors=${flavors} onChange=${() => setTurn((old) => old + 1)} />`}
        <${Firmware} />
      </div>
    </div>`;
}

/** Return the body of a request that counts all nodes. */
const allBy = (divider) => ({ flavors: [{ name: 'all', required: [] }], by: [divider], include_exclusive: true });

/**
 * Return a promise of the figures of all nodes: [{value, matching, free, held, unavailable}], null for those without a value.
 *
 * @param divider what a capacity request can break figures down by.
 */
export async function figuresBy(divider, signal) {
  return (await request('POST', '/v1/capacity', allBy(divider), { signal })).flavors[0].by[divider];
}

/** Return the filters of the list of nodes with a value: {name: value, or list of values}. */
export function filtersFor(divider, value) {
  if (divider.startsWith('trait:')) return value === null ? {} : { traits: value };
  return value === null ? withoutField(new URLSearchParams(), divider) : { [divider]: value };
}

/** Return figures with names, the largest first. */
const named = (figures) => figures.map((each) => ({ ...each, name: each.value ?? '(none)' })).sort((one, other) => other.matching - one.matching);

/** Return a promise of the figures of each class, with its name, the largest first. */
export const classes = async (signal) => named(await figuresBy('resource_class', signal));

function Form({ parameters, wrong }) {
  const form = useFields(FIELDS, parameters, wrong);
  const submit = (event) => {
    event.preventDefault();
    go(['capacity'], fieldsOf(event.target, FIELDS));
  };
  return html`<form class="card request" ref=${form} onSubmit=${submit}>
    <${NovaFlavor} label="Flavors of nova" name="nova" placeholder="names, or ${ALL} for all" ...${marks(wrong, 'nova', 'nova-help')} />
    <p id="nova-help" class="muted">Separated by commas. Without any flavor, the nodes are counted by resource class.</p>
    <${Wrong} error=${wrong} field="nova" />
    <details open=${['flavors', 'images'].some((name) => parameters.get(name))}>
      <summary>Flavors and images as JSON</summary>
      <div class="request">
        <label>Flavors <textarea name="flavors" spellcheck=${false} placeholder=${EXAMPLE} ...${marks(wrong, 'flavors', 'flavors-help')}></textarea></label>
        <${Wrong} error=${wrong} field="flavors" />
        <p id="flavors-help" class="muted">An object with the extra specs of each flavor, or a list of flavors.</p>
        <label>Images <textarea name="images" class="short" spellcheck=${false} placeholder=${IMAGES} ...${marks(wrong, 'images', 'images-help')}></textarea></label>
        <${Wrong} error=${wrong} field="images" />
        <p id="images-help" class="muted">For the drift: an object with the properties of each image, or a list of images.</p>
      </div>
    </details>
    <label>Split by <select name="by"><option value="">nothing</option>${GROUPS.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    <h2>What if</h2>
    <label>these nodes did not exist <input name="without" placeholder="names or uuids" /></label>
    <${TraitField} label="nodes had these traits" name="gains" error=${wrong} />
    <${TraitField} label="and not these" name="loses" error=${wrong} />
    <label>on these nodes <input name="nodes" placeholder="names or uuids; empty: all nodes" /></label>
    <div class="buttons"><a class="button" href="#/capacity">Reset</a><button type="submit" class="primary">Count</button></div>
  </form>`;
}

function Result({ flavors, warnings, isCut, isByClass, loading }) {
  if (!flavors.length) {
    return html`<${Empty} title=${warnings.length ? 'No flavor is for nodes.' : isByClass ? 'No node has a resource class.' : 'No flavor is named.'}>${warnings.map((warning) => html`<p>${warning}</p>`)}<p>Name flavors on the left, or give the <a href="#/nodes">nodes</a> classes.</p><//>`;
  }
  return html`
    ${warnings.map((warning) => html`<p class="note warn">${warning}</p>`)}
    ${isCut && html`<p class="note warn">These are the ${MAX_CLASSES} resource classes that most nodes have. To count others, name them as flavors.</p>`}
    <${Bars} flavors=${flavors} loading=${loading} areClasses=${isByClass} />`;
}

/** A bar for each flavor: how many nodes are free, held, and unavailable. Classes (value: the class) have links to their nodes. */
export function Bars({ flavors, loading = false, areClasses = false }) {
  const rows = flavors.flatMap((flavor) => [
    { ...flavor, label: flavor.name, isGroup: false, filters: areClasses && filtersFor('resource_class', flavor.value === null ? null : flavor.name) },
    ...Object.values(flavor.by ?? {}).flat().map((group) => ({ ...group, label: group.value ?? '(none)', isGroup: true })),
  ]);
  const whole = Math.max(1, ...flavors.map((flavor) => flavor.matching));
  return html`
    <${Legend}>a bar is as long as the number of nodes that match<//>
    <div class="chart capacity ${loading ? 'stale' : ''}" role="table" aria-label="Nodes for each flavor">
      <div class="row-of-chart" role="row"><span role="columnheader">${areClasses ? 'Class' : 'Flavor'}</span><span role="columnheader" class="bar-head"><span class="visually-hidden">Bar</span></span>
        ${['free', 'held', 'not'].map((name) => html`<span role="columnheader" class="number">${name === 'not' ? 'unavailable' : name}</span>`)}</div>
      ${rows.map((row) => html`<${Row} row=${row} whole=${whole} />`)}
    </div>`;
}

/** What the colours and the length of a bar mean. */
export function Legend({ children }) {
  return html`<p class="legend"><span class="key free"></span> free <span class="key held"></span> held <span class="key lost"></span> unavailable <span class="muted"> · ${children}</span></p>`;
}

/** A bar of free, held and unavailable nodes; whole: the number of nodes that fills it. */
export function Parts({ free, held, lost, whole }) {
  const width = (count) => ({ width: `${(100 * count) / whole}%` });
  return html`<span class="bar parts" aria-hidden="true"><span class="free" style=${width(free)}></span><span class="held" style=${width(held)}></span><span class="lost" style=${width(lost)}></span></span>`;
}

/** Return [number of unavailable nodes, the reasons in words]; unavailable: {reason: number}. */
export function lostOf(unavailable) {
  const lost = Object.values(unavailable).reduce((sum, each) => sum + each, 0);
  return [lost, Object.entries(unavailable).map(([reason, count]) => `${reason}: ${number(count)}`).join(', ')];
}

function Row({ row, whole }) {
  const [lost, reasons] = lostOf(row.unavailable);
  const lostDifference = row.difference && lostOf(row.difference.unavailable)[0];
  return html`<div class="row-of-chart" role="row">
    <span role="rowheader" class=${row.isGroup ? 'group' : ''}>${row.isGroup ? row.label : html`<strong>${row.filters ? html`<a href=${link(['nodes'], row.filters)}>${row.label}</a>` : row.label}</strong> <span class="count">${plural(row.matching, 'node')}</span>`}</span>
    <span role="cell" class="bar-cell"><${Parts} free=${row.free} held=${row.held} lost=${lost} whole=${whole} /></span>
    <span role="cell" class="number"><${Linked} count=${row.free} filters=${row.filters && { ...row.filters, eligible: 'true' }} /><${Difference} value=${row.difference?.free} /></span>
    <span role="cell" class="number"><${Linked} count=${row.held} filters=${row.filters && { ...row.filters, held: 'true' }} /><${Difference} value=${row.difference?.held} /></span>
    <span role="cell" class="number"><${Linked} count=${lost} filters=${row.filters && { ...row.filters, eligible: 'false', held: 'false' }} /><${Difference} value=${lostDifference} />${reasons && html`<span class="reasons">${reasons}</span>`}</span>
  </div>`;
}

/** A number of nodes, with a link to them if there are filters that select them. */
function Linked({ count, filters }) {
  return filters && count ? html`<a href=${link(['nodes'], filters)}>${number(count)}</a>` : number(count);
}

function Difference({ value }) {
  if (!value) return null;
  return html` <span class="difference ${value > 0 ? 'more' : 'less'}">${value > 0 ? '+' : '−'}${number(Math.abs(value))}</span>`;
}

/** The first capacity reservations. */
const PROMISES = '/v1/capacity_reservations?sort_key=name';
const NUMBERS = { count: 'Nodes', used: 'Used', left: 'Left', short: 'Short' };

/** The capacity reservations, if there are any. */
function Promises() {
  const { data } = useData(PROMISES, (signal) => get(PROMISES, { signal }));
  const promises = data?.capacity_reservations ?? [];
  if (!promises.length) return null;
  return html`<${Card} title="Capacity reservations">
    <p class="muted">Nodes that are promised to projects. Claims of others cannot take those that are left.</p>
    ${promises.some(({ short }) => short) && html`<p class="note warn">Too few nodes are free for some of them, because nodes have changed.</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table of capacity reservations"><table class="labelled">
      <thead><tr><th scope="col">Name</th><th scope="col">Project</th>${Object.values(NUMBERS).map((label) => html`<th scope="col" class="number">${label}</th>`)}<th scope="col">Until</th></tr></thead>
      <tbody>${promises.map(
        (each) => html`<tr key=${each.uuid}>
          <td class="name">${each.name}${Object.keys(each.groups).length > 0 && html`<div class="muted">all in ${Object.values(each.groups).join(', ')}</div>`}</td>
          <td>${each.project}</td>
          ${Object.entries(NUMBERS).map(([name, label]) => html`<td class="number" data-label=${label}>${name === 'short' && each.short ? html`<span class="state bad">${number(each.short)}</span>` : number(each[name])}</td>`)}
          <td>${each.expires_at ? html`<${Time} at=${each.expires_at} />` : 'it is deleted'}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${data.next && html`<p class="muted">These are the first ones. To see all: <span class="mono">baremetal capacity reservation list</span></p>`}
  <//>`;
}
