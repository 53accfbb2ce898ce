// Where flavors, images and nodes do not fit together.
import { request } from '../api.js';
import { useData } from '../data.js';
import { curl, number, plural } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { Busy, Card, Command, Count, Empty, NodeLink, Problem, Trait } from '../widgets.js';
import { clauseWords } from './clauses.js';

/** The most items of a list that are shown. */
const MAX_SHOWN = 50;
/** What the view Why can ask for. */
const ASKABLE = ['name', 'extra_specs', 'flavor', 'image', 'required', 'forbidden', 'resource_class'];

/** The drift of flavors (null without any) and images, whatever else is supposed. */
export function Drift({ flavors, images }) {
  const body = flavors?.length ? { flavors, ...(images?.length && { images }) } : null;
  const path = '/v1/drift';
  const state = useData(body && JSON.stringify(body), (signal) => request('POST', path, body, { signal }));
  return html`<${Card} title="Drift">
    ${!body && html`<p class="muted">Name flavors to see which of them no node matches, and which nodes and traits none of them needs.</p>`}
    ${body && html`<${Problem} error=${state.error} retry=${state.reload} />`}
    ${body && !state.data && state.loading && html`<${Busy}>Comparing flavors with nodes …<//>`}
    ${body && state.data && html`<div class=${state.loading ? 'stale' : ''}><${Lists} drift=${state.data} flavors=${flavors} /></div>
      <details class="commands"><summary>The same with a command</summary><${Command} label="curl">${curl(path, { method: 'POST', body })}<//></details>`}
  <//>`;
}

/** How many nodes of each model have which firmware; nothing if no BMC has listed any. */
export function Firmware() {
  const { data } = useData('firmware', (signal) => request('GET', '/v1/drift', undefined, { signal }));
  if (!data?.firmware?.length) return null;
  const models = Object.entries(Object.groupBy(data.firmware, ({ vendor, model }) => `${vendor} ${model}`));
  return html`<${Card} title="Firmware">${models.map(([title, items = []]) => html`<${List} key=${title} ...${{
    title, items, count: items.length, show: (each) => html`${each.name} ${each.version}: ${plural(each.nodes, 'node')}`,
  }} />`)}<//>`;
}

function Lists({ drift, flavors }) {
  const lists = [
    ['Flavors that no node matches', drift.unsatisfied, (each) => html`<${Unsatisfied} ...${each} flavor=${only(flavors, each.name)} />`],
    ['Flavors that match other nodes', drift.changed_flavors, (each) => html`<strong>${each.name}</strong>: ${plural(each.now, 'node')} now, ${number(each.then)} then`],
    ['Traits that images require and no node has', drift.absent_image_traits, (each) => html`<${Trait} name=${each.trait} /> ${each.images.join(', ')}`],
    ['Retired traits that are used', drift.retired_traits, (each) => html`<${Retired} ...${each} />`],
    ['Nodes that no flavor matches', drift.unreached_nodes, (each) => html`<${NodeLink} ...${each} />`, drift.unreached],
    ['Traits that no flavor and no image names', drift.unused_traits, (each) => html`<${Having} ...${each} />`],
  ].filter(([, items]) => items.length);
  return html`
    <p class="muted">These lists cover all nodes, free or not. They ignore “What if”.</p>
    ${drift.warnings.map((warning) => html`<p class="note warn">${warning}</p>`)}
    ${!lists.length && html`<${Empty} title="Everything fits."><p>A node matches each flavor, and a flavor matches each node. A flavor or an image names each trait.</p><//>`}
    ${lists.map(([title, items, show, count = items.length]) => html`<${List} key=${title} ...${{ title, items, show, count }} />`)}`;
}

/** Return the flavor with a name; undefined if several have it. */
function only(flavors, name) {
  const namesakes = flavors.filter((each) => each.name === name);
  return namesakes.length === 1 ? namesakes[0] : undefined;
}

function List({ title, items, show, count }) {
  const shown = items.slice(0, MAX_SHOWN);
  return html`<section class="drift" aria-label=${title}>
    <h3>${title} <${Count} value=${count} /></h3>
    <ul>${shown.map((each) => html`<li key=${JSON.stringify(each)}>${show(each)}</li>`)}</ul>
    ${count > shown.length && html`<p class="muted">and ${number(count - shown.length)} more</p>`}
  </section>`;
}

function Unsatisfied({ name, relaxation, flavor }) {
  const question = questionOf(flavor);
  return html`<strong>${name}</strong>: ${relaxation
    ? html`without “${relaxation.drop.map(clauseWords).join('” and “')}”, ${plural(relaxation.nodes, 'node')} would match.`
    : 'there are no nodes.'}${' '}
    ${question && html`<a href=${link(['why'], question)} aria-label=${`Why does no node match ${name}?`}>Why?</a>`}`;
}

/** Return the parameters of the view Why for a flavor; null if it cannot ask for it. */
function questionOf(flavor) {
  if (!flavor || Object.keys(flavor).some((key) => !ASKABLE.includes(key))) return null;
  const text = (value) => value && JSON.stringify(value);
  const names = (value) => value && [value].flat().join(' ');
  return {
    flavor: text(flavor.extra_specs ?? flavor.flavor),
    image: text(flavor.image),
    required: names(flavor.required),
    forbidden: names(flavor.forbidden),
    resource_class: flavor.resource_class,
  };
}

function Retired({ trait, nodes, flavors, images }) {
  const users = [...flavors.map((name) => `flavor ${name}`), ...images.map((name) => `image ${name}`)];
  return html`<${Having} trait=${trait} nodes=${nodes} />${users.length > 0 && html` ${users.join(', ')}`}`;
}

function Having({ trait, nodes }) {
  return html`<${Trait} name=${trait} /> <a href=${link(['nodes'], { traits: trait })} aria-label=${`${plural(nodes, 'node')} with ${trait}`}>${plural(nodes, 'node')}</a>`;
}
