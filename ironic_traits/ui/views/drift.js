// Where flavors, images and nodes do not fit together; exclusive traits, and what another one changes for flavors.
import { get, query, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { curl, number, plural } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Command, Count, Empty, NodeLink, Problem, Trait } from '../widgets.js';
import { clauseWords } from './clauses.js';

/** The most items of a list that are shown. */
const MAX_SHOWN = 50;
/** What the view Why can ask for. */
const ASKABLE = ['name', 'extra_specs', 'flavor', 'image', 'required', 'forbidden', 'resource_class'];

/** The drift of flavors (null without any) and images, whatever else is supposed; turn: another one loads it again. */
export function Drift({ flavors, images, turn }) {
  const body = flavors?.length ? { flavors, ...(images?.length && { images }) } : null;
  const path = '/v1/drift';
  const state = useData(body && JSON.stringify(body), (signal) => request('POST', path, body, { signal }), turn);
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
  return html`<${Trait} name=${trait} /> <a href=${link(['nodes'], { traits: trait, include_children: 'true' })} aria-label=${`${plural(nodes, 'node')} with ${trait}`}>${plural(nodes, 'node')}</a>`;
}

/** The exclusive traits. The flavors may be null; onChange is called after a change. */
export function Exclusive({ flavors, onChange }) {
  const path = '/v1/traits?exclusive=true';
  const { data, error, loading, reload } = useData(path, (signal) => get(path, { signal }));
  const done = () => {
    reload();
    onChange();
  };
  return html`<${Card} title="Exclusive traits">
    <p class="muted">A node with one only matches requests that require it.</p>
    <${Problem} error=${error} retry=${reload} />
    ${!data && loading && html`<${Busy} />`}
    <ul>${data?.traits.map((each) => html`<li key=${each.name}><${Trait} name=${each.name} /> ${plural(each.nodes, 'node')} <${Switch} key=${JSON.stringify(flavors)} name=${each.name} exclusive=${false} flavors=${flavors} onDone=${done} /></li>`)}</ul>
    <${Another} flavors=${flavors} onDone=${done} />
  <//>`;
}

function Another({ flavors, onDone }) {
  const [name, setName] = useState('');
  const done = () => {
    setName('');
    onDone();
  };
  return html`<label>Another trait <input class="mono" value=${name} onInput=${(event) => setName(event.target.value.trim())} /></label>
    ${name && html`<${Switch} key=${name + JSON.stringify(flavors)} name=${name} exclusive=${true} flavors=${flavors} onDone=${done} />`}`;
}

/** A button that shows what changes for the flavors (if there are any), and one that makes the change. */
function Switch({ name, exclusive, flavors, onDone }) {
  const path = `/v1/traits/${encodeURIComponent(name)}`;
  const [preview, shown] = useAction(() => request('PATCH', `${path}${query({ preview: true })}`, { exclusive, flavors }));
  const [change, state] = useAction(async () => {
    await request('PATCH', path, { exclusive });
    onDone();
  });
  const ask = Boolean(flavors?.length) && !shown.result;
  return html`${ask && html`<button type="button" disabled=${shown.running} onClick=${preview} aria-label=${`Preview ${name}`}>Preview</button>`}
    ${shown.result && html`<div class="note" role="status">${shown.result.flavors.length
      ? shown.result.flavors.map((each) => html`<p><strong>${each.name}</strong> matches ${plural(each.now, 'node')} now, and ${number(each.then)} then.</p>`)
      : 'All flavors match the same nodes as now.'}</div>`}
    ${!ask && html`<button type="button" disabled=${state.running} onClick=${change} aria-label=${`${exclusive ? 'Make' : 'End'} ${name} exclusive`}>${exclusive ? 'Make exclusive' : 'End'}</button>`}
    <${Problem} error=${shown.error ?? state.error} />`;
}
