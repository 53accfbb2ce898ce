// Which nodes match a flavor, an image and traits; and why the others do not.
import { get, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { curl, number, plural, quote } from '../format.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Bar, Busy, Card, Command, Empty, NodeLink, Problem, Trait } from '../widgets.js';
import { fallback } from './node_reservation.js';
import { flavorOf, imageOf, words } from './requests.js';

/** The fields of the form, as they are in the URL. */
const FIELDS = ['flavor', 'image', 'required', 'forbidden', 'resource_class'];
const EXAMPLE = `{
  "resources:CUSTOM_GOLD": "1",
  "trait:HW_CPU_X86_VMX": "required"
}`;
/** Clauses of requirements, which a request can leave out; those of "eligible" it cannot. */
const DROPPABLE = /^(required|required_any|forbidden|resource_class):/;
const MATCHES = 50;

/** Return the body of POST /v1/matches for the parameters; throws Error with a sentence for people. */
function bodyOf(parameters) {
  const body = {};
  const flavor = flavorOf(parameters.get('flavor') ?? '');
  const image = imageOf(parameters.get('image') ?? '');
  if (flavor) body.flavor = flavor;
  if (image) body.image = image;
  for (const name of ['required', 'forbidden']) {
    const names = words(parameters.get(name) ?? '');
    if (names.length) body[name] = names;
  }
  const resourceClass = (parameters.get('resource_class') ?? '').trim();
  if (resourceClass) body.resource_class = resourceClass;
  return body;
}

export function Why({ parameters }) {
  let body = null;
  let wrong = null;
  const isAsked = FIELDS.some((name) => parameters.get(name));
  try {
    body = isAsked ? bodyOf(parameters) : null;
  } catch (error) {
    wrong = error;
  }
  return html`
    <div class="title"><h1>Why</h1><span class="muted">which nodes match, and why the others do not</span></div>
    <div class="columns why">
      <${Form} key=${location.hash} parameters=${parameters} wrong=${wrong} />
      <div class="stack">
        ${!isAsked && html`<section class="card"><${Empty} title="Ask for something.">
          <p>Paste the properties of a flavor and of an image, or name traits. The answer says how many nodes each of them rules out.</p><//></section>`}
        ${body && html`<${Answer} key=${JSON.stringify(body)} body=${body} />`}
      </div>
    </div>`;
}

function Form({ parameters, wrong }) {
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    go(['why'], Object.fromEntries(FIELDS.map((name) => [name, form.get(name).trim()])));
  };
  const value = (name) => parameters.get(name) ?? '';
  return html`<form class="card request" onSubmit=${submit}>
    <label>Flavor <textarea name="flavor" spellcheck=${false} placeholder=${EXAMPLE} aria-describedby="flavor-help">${value('flavor')}</textarea></label>
    <p id="flavor-help" class="muted">JSON: its extra specs, or the output of “openstack flavor show -f json”.</p>
    <label>Image <textarea name="image" spellcheck=${false} placeholder='{"trait:CUSTOM_GOLD": "required"}' aria-describedby="image-help">${value('image')}</textarea></label>
    <p id="image-help" class="muted">JSON: its properties, or the output of “openstack image show -f json”.</p>
    <label>Required traits <input name="required" class="mono" defaultValue=${value('required')} /></label>
    <label>Forbidden traits <input name="forbidden" class="mono" defaultValue=${value('forbidden')} /></label>
    <label>Resource class <input name="resource_class" defaultValue=${value('resource_class')} /></label>
    <${Problem} error=${wrong} />
    <div class="buttons"><button type="submit" class="primary">Ask</button></div>
  </form>`;
}

function Answer({ body }) {
  const [dropped, setDropped] = useState(null);
  const question = { ...body, explain: true, limit: MATCHES };
  const state = useData(JSON.stringify(question), (signal) => request('POST', '/v1/matches', question, { signal }));
  if (!state.data) {
    return html`<section class="card">${state.error ? html`<${Problem} error=${state.error} retry=${state.reload} />` : html`<${Busy}>Comparing all nodes …<//>`}</section>`;
  }
  const { request: merged, nodes, warnings, explanation } = state.data;
  return html`
    <section class="card" aria-label="Result">
      <p class="big" role="status">${plural(explanation.matched, 'node')} of ${number(explanation.considered)} match${explanation.matched === 1 ? 'es' : ''}</p>
      ${warnings.map((warning) => html`<p class="note warn">${warning}</p>`)}
      <${Matches} nodes=${nodes} />
    </section>
    <${Chart} explanation=${explanation} />
    ${explanation.relaxations.length > 0 && html`<${Relaxations} ...${{ explanation, merged, dropped, setDropped }} />`}
    ${dropped && html`<${Relaxed} key=${dropped.join()} merged=${merged} dropped=${dropped} />`}
    ${explanation.near_misses.length > 0 && html`<${NearMisses} misses=${explanation.near_misses} />`}
    ${explanation.matched > 0 && html`<${Reserve} body=${body} />`}
    <${Card} title="The same with a command">
      <${Command} label="curl">${curl('/v1/matches', { method: 'POST', body: { ...body, explain: true } })}<//>
      <${Command} label="Placement">${curl(`/placement/allocation_candidates?${merged.placement_query}`, { placement: true })}<//>
      <${Command} label="baremetal">${baremetal(merged)}<//>
    <//>`;
}

function baremetal(merged) {
  const list = (option, names) => (names.length ? [option, ...names] : []);
  return ['baremetal', 'match', ...list('--trait', merged.required), ...list('--not-trait', merged.forbidden),
    ...(merged.required_any.length === 1 ? list('--trait-any', merged.required_any[0]) : []),
    ...(merged.resource_class ? ['--resource-class', quote(merged.resource_class)] : []), '--explain'].join(' ');
}

function Matches({ nodes }) {
  if (!nodes.length) return null;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Nodes that match"><table>
    <thead><tr><th scope="col">Node</th><th scope="col">Class</th><th scope="col">Traits</th></tr></thead>
    <tbody>${nodes.slice(0, 8).map(
      (node) => html`<tr key=${node.uuid}><td class="name"><${NodeLink} uuid=${node.uuid} name=${node.name} /></td><td>${node.resource_class ?? '–'}</td>
        <td class="traits"><div class="traits">${node.traits.slice(0, 6).map((name) => html`<${Trait} name=${name} />`)}${node.traits.length > 6 && html`<span class="muted">+${node.traits.length - 6}</span>`}</div></td></tr>`,
    )}</tbody>
  </table></div>
  ${nodes.length > 8 && html`<p class="muted">and ${nodes.length - 8}${nodes.length === MATCHES ? ' or more' : ''} others</p>`}`;
}

const KINDS = {
  required: 'has the trait',
  required_any: 'has one of',
  forbidden: 'lacks the trait',
  resource_class: 'is of the class',
  expect: 'is what the rule expects:',
};
const ELIGIBLE = {
  'provision state': 'is available',
  maintenance: 'is not in maintenance',
  instance: 'has no instance',
  'power state': 'has a known power state',
  reserved: 'is not reserved',
  allocated: 'is not allocated in Placement',
  cloud: 'can be held in its cloud',
};

/** Return a clause in words. */
export function clauseWords(clause) {
  const [kind, ...rest] = clause.split(':');
  const value = rest.join(':');
  if (kind === 'eligible') return ELIGIBLE[value] ?? value;
  return `${KINDS[kind] ?? kind} ${value.replaceAll(',', ', ')}`.trim();
}

function Chart({ explanation }) {
  const clauses = [...explanation.clauses].sort((one, other) => other.rejected - one.rejected);
  return html`<${Card} title="What rules out how many nodes">
    <p class="muted">The strong part of a bar: nodes that only this condition rules out.</p>
    <div class="chart" role="table" aria-label="Conditions, and the nodes that each rules out">
      <div class="row-of-chart" role="row">
        <span role="columnheader">A node that matches …</span><span role="columnheader" class="bar-head"><span class="visually-hidden">Bar</span></span>
        <span role="columnheader" class="number">rules out</span><span role="columnheader" class="number">by it alone</span>
      </div>
      ${clauses.map(
        (each) => html`<div class="row-of-chart" role="row" key=${each.clause}>
          <span role="rowheader">${clauseWords(each.clause)}</span>
          <span role="cell" class="bar-cell"><${Bar} value=${each.rejected} part=${each.rejected_only} whole=${explanation.considered} /></span>
          <span role="cell" class="number">${number(each.rejected)}</span><span role="cell" class="number">${number(each.rejected_only)}</span>
        </div>`,
      )}
    </div>
  <//>`;
}

function isDroppable(clauses) {
  return clauses.every((clause) => DROPPABLE.test(clause));
}

function Relaxations({ explanation, merged, dropped, setDropped }) {
  return html`<${Card} title="What would help">
    <ul class="relaxations">
      ${explanation.relaxations.map(({ drop, nodes }) => {
        const label = html`<span>Without “${drop.map(clauseWords).join('” and “')}”</span><span class="gain">${plural(nodes, 'node')}</span>`;
        if (isDroppable(drop)) {
          const isShown = dropped?.join() === drop.join();
          return html`<li key=${drop.join()}><button type="button" aria-pressed=${isShown} onClick=${() => setDropped(isShown ? null : drop)}>${label}</button></li>`;
        }
        return html`<li key=${drop.join()}><a class="button" href=${link(['nodes'], filters(merged))}>${label}</a></li>`;
      })}
    </ul>
    ${explanation.relaxations.some(({ drop }) => !isDroppable(drop)) &&
    html`<p class="muted">A request cannot leave out a condition on the state of a node. The link lists all nodes with these traits.</p>`}
  <//>`;
}

/** Return the filters of the list of nodes for what a request needs. */
function filters(merged) {
  return {
    traits: merged.required.join(','),
    'traits-any': merged.required_any.map((names) => names.join(',')),
    'not-traits-any': merged.forbidden.join(','),
    columns: 'name,resource_class,provision_state,power_state,maintenance,reservation_uuid,instance_uuid',
  };
}

/** Return the merged request without some clauses. */
export function without(merged, dropped) {
  const left = (kind, name) => !dropped.includes(`${kind}:${name}`);
  const body = {
    required: merged.required.filter((name) => left('required', name)),
    required_any: merged.required_any.filter((names) => left('required_any', [...names].sort().join(',')) && left('required_any', names.join(','))),
    forbidden: merged.forbidden.filter((name) => left('forbidden', name)),
  };
  if (merged.resource_class && left('resource_class', merged.resource_class)) body.resource_class = merged.resource_class;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value.length));
}

function Relaxed({ merged, dropped }) {
  const body = { ...without(merged, dropped), limit: MATCHES, required: without(merged, dropped).required ?? [] };
  const { data, error, reload } = useData(JSON.stringify(body), (signal) => request('POST', '/v1/matches', body, { signal }));
  return html`<${Card} title=${`Without “${dropped.map(clauseWords).join('” and “')}”`}>
    <${Problem} error=${error} retry=${reload} />
    ${!data && !error && html`<${Busy} />`}
    ${data && html`<p role="status">${plural(data.nodes.length, 'node')}${data.nodes.length === MATCHES ? ' or more' : ''} would match.</p><${Matches} nodes=${data.nodes} />`}
  <//>`;
}

function NearMisses({ misses }) {
  return html`<${Card} title="The closest nodes">
    <div class="scroll" tabindex="0" role="region" aria-label="Table of the closest nodes"><table>
      <thead><tr><th scope="col">Node</th><th scope="col">A match would be a node that …</th></tr></thead>
      <tbody>${misses.slice(0, 10).map(
        (miss) => html`<tr key=${miss.node}><td class="name"><${NodeLink} uuid=${miss.node} name=${miss.name} /></td><td class="wrap">${miss.rejected_by.map(clauseWords).join('; ')}</td></tr>`,
      )}</tbody>
    </table></div>
  <//>`;
}

function Reserve({ body }) {
  const [run, state] = useAction(async (instance, minutes) => {
    const { reservation } = await request('POST', '/v1/reservations', { ...body, instance_uuid: instance, expires_in: minutes * 60 });
    return get(`/v1/nodes/${reservation.node_uuid}?fields=uuid,name`).then((node) => ({ reservation, node }));
  });
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    run(form.get('instance').trim() || crypto.randomUUID?.() || fallback(), Number(form.get('minutes')));
  };
  return html`<${Card} title="Reserve one of them">
    <form class="row" onSubmit=${submit}>
      <label>Instance (uuid) <input name="instance" class="mono" size="36" placeholder="a new one" /></label>
      <label>For minutes <input name="minutes" type="number" min="1" value="60" required /></label>
      <button type="submit" class="primary" disabled=${state.running}>Reserve</button>
    </form>
    <${Problem} error=${state.error} />
    ${state.result &&
    html`<p class="note good" role="status"><${NodeLink} ...${state.result.node} /> is held for the instance <span class="mono">${state.result.reservation.instance_uuid}</span>.
      <br />To deploy: <code>baremetal node deploy ${state.result.node.uuid} --reservation ${state.result.reservation.uuid}</code></p>`}
  <//>`;
}
