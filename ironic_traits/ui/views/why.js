// Which nodes match a flavor, an image and traits; and why the others do not.
import { get, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { curl, number, plural, quote } from '../format.js';
import { FieldError, atTrait, fieldsOf, inField, namesIn, useFields } from '../forms.js';
import { html } from '../html.js';
import { go } from '../router.js';
import { useRef, useState } from '../vendor/hooks.js';
import { Bar, Busy, Card, Command, Empty, NodeLink, Problem } from '../widgets.js';
import { clauseWords, groupWords, verdict } from './clauses.js';
import { NovaFlavor, TraitField, ValueOfNodes, Wrong, marks } from './fields.js';
import { COLUMNS, requestFilters } from './filters.js';
import { randomUuid } from './node_reservation.js';
import { flavorOf, imageOf } from './requests.js';
import { MATCHES, Matches, NearMisses, Relaxations, Relaxed, limitsOf } from './why_relaxations.js';
import { Groups, Policies, TOPOLOGY_FIELDS, TopologyFields, topologyOf, topologyOptions } from './why_topology.js';

/** The fields of the form, as they are in the URL. */
export const ONE_OF = ['one_of', 'one_of_2', 'one_of_3', 'one_of_4'];
const FIELDS = ['flavor', 'flavor_name', 'image', 'image_name', 'required', ...ONE_OF, 'forbidden', 'resource_class', ...TOPOLOGY_FIELDS];
const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const TRAITS = ['required', ...ONE_OF, 'forbidden'];
const EXAMPLE = `{
  "resources:CUSTOM_GOLD": "1",
  "trait:HW_CPU_X86_VMX": "required"
}`;

/** Return the names of all fields of the form. */
function fields() {
  return [...FIELDS, ...requestFilters()];
}

/** Return the body of POST /v1/matches for the parameters; throws a FieldError. */
function bodyOf(parameters) {
  const text = (name) => (parameters.get(name) ?? '').trim();
  /** @type {Record<string, unknown>} */
  const body = topologyOf(text);
  if (text('flavor') && text('flavor_name')) throw new FieldError('flavor_name', 'Enter either a flavor, or the name of one of nova.');
  if (text('image') && text('image_name')) throw new FieldError('image_name', 'Enter either an image, or the name of one in Glance.');
  const flavor = text('flavor_name') ? { name: text('flavor_name') } : inField('flavor', () => flavorOf(text('flavor')));
  const named = UUID.test(text('image_name')) ? { id: text('image_name') } : { name: text('image_name') };
  const image = text('image_name') ? named : inField('image', () => imageOf(text('image')));
  if (flavor) body.flavor = flavor;
  if (image) body.image = image;
  for (const name of ['required', 'forbidden']) {
    const names = namesIn(text(name));
    if (names.length) body[name] = names;
  }
  const oneOf = ONE_OF.map((name) => namesIn(text(name))).filter((names) => names.length);
  if (oneOf.length) body.required_any = oneOf;
  for (const name of ['resource_class', ...requestFilters()]) {
    if (text(name)) body[name] = text(name);
  }
  return body;
}

export function Why({ parameters }) {
  /** @type {Record<string, unknown> | null} */
  let body = null;
  let wrong = /** @type {FieldError | null} */ (null);
  const isAsked = fields().some((name) => parameters.get(name));
  try {
    if (isAsked) body = bodyOf(parameters);
  } catch (error) {
    wrong = error;
  }
  const question = { ...body, explain: true, limit: MATCHES };
  const state = useData(body && JSON.stringify(question), (signal) => request('POST', '/v1/matches', question, { signal }));
  wrong ??= atTrait(state.error, TRAITS, parameters);
  return html`
    <div class="title"><h1>Why</h1><span class="muted">which nodes match, and why the others do not</span></div>
    <div class="columns why">
      <${Form} parameters=${parameters} wrong=${wrong} />
      <div class="stack">
        ${!isAsked && html`<section class="card"><${Empty} title="Ask for something.">
          <p>Paste or pick a flavor and an image, or name traits. The answer says how many nodes each of them rules out.</p><//></section>`}
        ${body && !wrong && html`<${Answer} key=${JSON.stringify(body)} body=${body} state=${state} parameters=${parameters} />`}
      </div>
    </div>`;
}

function Form({ parameters, wrong }) {
  const form = useFields(fields(), parameters, wrong);
  const submit = (event) => {
    event.preventDefault();
    go(['why'], fieldsOf(event.target, fields()));
  };
  const [groups, setGroups] = useState(1);
  const shown = Math.max(groups, ONE_OF.findLastIndex((name) => parameters.get(name)) + 1);
  return html`<form class="card request" ref=${form} onSubmit=${submit}>
    <${TraitField} label="Required traits" name="required" error=${wrong} />
    ${ONE_OF.map((name, place) => html`<div key=${name} hidden=${place >= shown}><${TraitField} label=${place ? 'And one of these traits' : 'One of these traits'} name=${name} error=${wrong} /></div>`)}
    ${shown < ONE_OF.length && html`<div><button type="button" class="small" onClick=${() => setGroups(shown + 1)}>Add one of others</button></div>`}
    <${TraitField} label="Forbidden traits" name="forbidden" error=${wrong} />
    <${ValueOfNodes} name="resource_class" label="Resource class" />
    <details open=${requestFilters().some((name) => parameters.get(name))}>
      <summary>Only nodes with …</summary>
      <div class="request">${requestFilters().map((name) => html`<${ValueOfNodes} key=${name} name=${name} label=${COLUMNS[name].label} />`)}</div>
    </details>
    <${TopologyFields} parameters=${parameters} wrong=${wrong} />
    <${NovaFlavor} label="Flavor of nova" name="flavor_name" placeholder="its name" ...${marks(wrong, 'flavor_name')} />
    <${Wrong} error=${wrong} field="flavor_name" />
    <label>Image of Glance <input name="image_name" placeholder="its name or id" ...${marks(wrong, 'image_name')} /></label>
    <${Wrong} error=${wrong} field="image_name" />
    <details open=${['flavor', 'image'].some((name) => parameters.get(name))}>
      <summary>A flavor or an image as JSON</summary>
      <div class="request">
        <label>Flavor <textarea name="flavor" spellcheck=${false} placeholder=${EXAMPLE} ...${marks(wrong, 'flavor', 'flavor-help')}></textarea></label>
        <${Wrong} error=${wrong} field="flavor" />
        <p id="flavor-help" class="muted">Its extra specs, or the output of “openstack flavor show -f json”.</p>
        <label>Image <textarea name="image" class="short" spellcheck=${false} placeholder='{"trait:CUSTOM_GOLD": "required"}' ...${marks(wrong, 'image', 'image-help')}></textarea></label>
        <${Wrong} error=${wrong} field="image" />
        <p id="image-help" class="muted">Its properties, or the output of “openstack image show -f json”.</p>
      </div>
    </details>
    <div class="buttons"><button type="submit" class="primary">Ask</button></div>
  </form>`;
}

function Answer({ body, state, parameters }) {
  const [hasReserved, setReserved] = useState(false);
  if (!state.data || state.isStale) {
    return html`<section class="card">${state.error ? html`<${Problem} error=${state.error} retry=${state.reload} />` : html`<${Busy}>Comparing all nodes …<//>`}</section>`;
  }
  const { request: requirements, nodes, topology, warnings, explanation } = state.data;
  const { count } = body;
  const limits = limitsOf(body);
  // Neither command has the filters.
  const hasCommands = !Object.keys(limits).length;
  const merged = { ...limits, ...requirements, count, topology: body.topology, relative_to: body.relative_to };
  const dropped = parameters.getAll('drop');
  const drop = (clauses) => go(['why'], { ...Object.fromEntries(fields().map((name) => [name, parameters.get(name)])), drop: clauses });
  const reserved = () => {
    setReserved(true);
    state.reload();
  };
  return html`
    <section class="card" aria-label="Result">
      <${Problem} error=${state.error} retry=${state.reload} at=${state.at} />
      <p class="verdict" role="status">${verdict(explanation)}</p>
      ${warnings.map((warning) => html`<p class="note warn">${warning}</p>`)}
      ${(count || body.topology) && html`<p>Chosen: ${count ? `${number(nodes.length)} of ${plural(count, 'node')}` : plural(nodes.length, 'node')}</p>`}
      <${Matches} nodes=${nodes} count=${count} />
    </section>
    ${explanation.topology && html`<${Groups} topology=${nodes.length ? topology : []} explanation=${explanation.topology} />`}
    <${Chart} explanation=${explanation} />
    ${explanation.relaxations.length > 0 && html`<${Relaxations} relaxations=${explanation.relaxations} merged=${merged} dropped=${dropped} onDrop=${drop} />`}
    ${dropped.length > 0 && html`<${Relaxed} key=${dropped.join()} merged=${merged} dropped=${dropped} turn=${state.turn} />`}
    ${explanation.near_misses.length > 0 && html`<${NearMisses} misses=${explanation.near_misses} />`}
    ${(nodes.length > 0 || hasReserved) && html`<${Reserve} body=${body} canReserve=${nodes.length > 0} onDone=${reserved} />`}
    <${Card} title="The same with a command">
      <${Command} label="curl">${curl('/v1/matches', { method: 'POST', body: { ...body, explain: true } })}<//>
      ${hasCommands && !body.topology && merged.resource_class && html`<${Command} label="Placement">${curl(`/placement/allocation_candidates?${merged.placement_query}`, { placement: true })}<//>`}
      ${hasCommands && topologyOptions(body) && html`<${Command} label="baremetal">${baremetal(merged)}<//>`}
    <//>`;
}

function baremetal(merged) {
  const list = (option, names) => (names.length ? [option, ...names] : []);
  return ['baremetal', 'match', ...list('--trait', merged.required), ...list('--not-trait', merged.forbidden),
    ...merged.required_any.flatMap((names) => ['--trait-any', ...names]),
    ...(merged.resource_class ? ['--resource-class', quote(merged.resource_class)] : []), ...(topologyOptions(merged) ?? []), '--explain'].join(' ');
}

function Chart({ explanation }) {
  const clauses = explanation.clauses.filter(({ rejected }) => rejected).sort((one, other) => other.rejected - one.rejected);
  const others = explanation.clauses.filter(({ rejected }) => !rejected);
  return html`<${Card} title="What rules out how many nodes">
    ${!clauses.length && html`<p>No condition rules out a node.</p>`}
    ${clauses.length > 0 && html`<p class="muted">Of ${plural(explanation.considered, 'node')}. The strong part of a bar: nodes that only this condition rules out.</p>
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
    </div>`}
    ${others.length > 0 && html`<details class="commands"><summary>${plural(others.length, 'condition')} that rule${others.length === 1 ? 's' : ''} out nothing</summary>
      <ul>${others.map(({ clause }) => html`<li key=${clause}>${clauseWords(clause)}</li>`)}</ul></details>`}
  <//>`;
}

/** The form that reserves nodes; canReserve: whether enough nodes match. onDone is called after a reservation, which changes what matches. */
function Reserve({ body, canReserve, onDone }) {
  const { count = 1, ...requirements } = body;
  // Without a response, the nodes may be held: another try with the same instances gets the same nodes.
  const generated = useRef(null);
  const [run, state] = useAction(async (entered, minutes) => {
    if (entered.length && entered.length !== count) throw new Error(`Enter ${plural(count, 'uuid')}, or none.`);
    if (!entered.length) generated.current ??= Array.from({ length: count }, randomUuid);
    const more = { instance_uuids: entered.length ? entered : generated.current, expires_in: minutes * 60 };
    const { reservations, topology } = await request('POST', '/v1/reservations', { required: [], ...requirements, ...more });
    generated.current = null;
    onDone();
    return { topology, held: await Promise.all(reservations.map(async (each) => ({ ...each, node: await nameOf(each.node_uuid) }))) };
  });
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    run(String(form.get('instances')).split(/[\s,]+/).filter(Boolean), Number(form.get('minutes')));
  };
  return html`<${Card} title=${`Reserve ${count === 1 ? 'one' : count} of them`}>
    <form class="row" onSubmit=${submit}>
      <label>${count === 1 ? 'Instance (uuid)' : 'Instances (uuids)'} <input name="instances" class="mono" size="36" placeholder=${count === 1 ? 'a new one' : 'new ones'} /></label>
      <label>For minutes <input name="minutes" type="number" min="1" value="60" required /></label>
      <button type="submit" class="primary" disabled=${state.running || !canReserve}>Reserve</button>
    </form>
    <${Problem} error=${state.error} />
    ${state.result &&
    html`<div class="note good" role="status"><${Policies} topology=${state.result.topology} />
      ${state.result.held.map(
        ({ uuid, node, instance_uuid, groups }) => html`<p key=${uuid}><${NodeLink} ...${node} />${groups && ` in ${groupWords(groups)}`} is held for the instance <span class="mono">${instance_uuid}</span>.
          <br />To deploy: <code>baremetal node deploy ${node.uuid} --reservation ${uuid}</code></p>`,
      )}</div>`}
  <//>`;
}

/** Return {uuid, name} of a node; no name if it cannot be read: the node is held all the same. */
function nameOf(uuid) {
  return get(`/v1/nodes/${uuid}?fields=uuid,name`).catch(() => ({ uuid }));
}
