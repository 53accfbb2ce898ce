// Nodes relative to each other, such as all in one rack: the fields of the form, and the groups in the answer.
import { number, plural, quote } from '../format.js';
import { FieldError } from '../forms.js';
import { html } from '../html.js';
import { useState } from '../vendor/hooks.js';
import { Bar, Card } from '../widgets.js';
import { groupWords, withoutWords } from './clauses.js';
import { Wrong, marks } from './fields.js';

/** The policies: {name: [in words, option of the command]}. */
const POLICIES = {
  affinity: ['all in one group', '--same'],
  'anti-affinity': ['spread over groups', '--spread'],
  'soft-affinity': ['together if possible', '--prefer-same'],
  'soft-anti-affinity': ['spread if possible', '--prefer-spread'],
};
const KEYS = ['trait:CUSTOM_RACK_', 'properties/rack', 'chassis_uuid', 'conductor_group', 'resource_class', 'shard', 'owner', 'lessee'];
const ITEM = ['key', 'policy', 'max_per_group', 'prefer'];
/** What the names of the fields end with, for each row: a request may have 8 policies. */
const ROWS = ['', '_2', '_3', '_4', '_5', '_6', '_7', '_8'];
export const TOPOLOGY_FIELDS = ['count', 'relative_to', ...ROWS.flatMap((row) => ITEM.map((name) => name + row))];

/** Return {topology, relative_to, count} of the form, without those that are empty; throws a FieldError. */
export function topologyOf(text) {
  const entries = (row) => ITEM.map((name) => [name, text(name + row)]).filter(([, value]) => value);
  const items = ROWS.map((row) => Object.fromEntries(entries(row)));
  const topology = items.filter((item) => Object.keys(item).length);
  const wrong = items.findIndex((item) => Object.keys(item).length && (!item.key || Object.keys(item).length === 1));
  if (wrong >= 0) {
    throw new FieldError(`key${ROWS[wrong]}`, 'For nodes relative to each other, enter a key, and also a policy, a maximum or a preference.');
  }
  for (const item of topology) {
    if (item.max_per_group) item.max_per_group = numeric(item.max_per_group);
  }
  const instances = text('relative_to').split(/[\s,]+/).filter(Boolean);
  return {
    ...(topology.length && { topology }),
    ...(instances.length && { relative_to: instances }),
    ...(text('count') && { count: numeric(text('count')) }),
  };
}

/** Return the number in a text; the text if it is not one, so that the service says what is wrong. */
function numeric(text) {
  return Number(text) || text;
}

/** Return the options of "baremetal match" for a request; null if they cannot express it. */
export function topologyOptions({ topology = [], relative_to = [], count }) {
  const most = shared(topology, 'max_per_group', ['anti-affinity', 'soft-anti-affinity']);
  const prefer = shared(topology, 'prefer', ['affinity', 'soft-affinity']);
  if (most === null || ![undefined, 'fullest'].includes(prefer) || !topology.every((item) => item.policy)) return null;
  return [
    ...(count ? ['--count', count] : []),
    ...topology.flatMap(({ key, policy }) => [POLICIES[policy]?.[1], quote(key)]),
    ...(most ? ['--max-per-group', most] : []),
    ...(prefer ? ['--pack'] : []),
    ...(relative_to.length ? ['--relative-to', ...relative_to.map(quote)] : []),
  ];
}

/** Return the value that an option sets: for these policies, or for all if there are none. Null if the items differ from that. */
function shared(topology, name, policies) {
  const some = topology.filter((item) => policies.includes(item.policy));
  const chosen = some.length ? some : topology;
  const value = chosen[0]?.[name];
  return topology.every((item) => item[name] === (chosen.includes(item) ? value : undefined)) ? value : null;
}

/** The fields. All rows are there, because a form shows the parameters in its fields; those that are not used are hidden. */
export function TopologyFields({ parameters, wrong }) {
  const [added, setAdded] = useState(1);
  const used = ROWS.findLastIndex((row) => ITEM.some((name) => parameters.get(name + row)));
  const shown = Math.max(added, used + 1);
  return html`<label>Nodes <input name="count" type="number" min="1" placeholder="as many as possible" /></label>
    ${ROWS.map((row, place) => html`<${Row} key=${row} end=${row} wrong=${wrong} place=${place} isHidden=${place >= shown} />`)}
    <p id="topology-help" class="muted">A key divides nodes into groups: traits that begin with trait:…, or a field, such as properties/rack.</p>
    <datalist id="topology-keys">${KEYS.map((key) => html`<option value=${key} />`)}</datalist>
    ${shown < ROWS.length && html`<div><button type="button" class="small" onClick=${() => setAdded(shown + 1)}>Add a key</button></div>`}
    <label>Relative to instances <input name="relative_to" class="mono" placeholder="uuids" /></label>`;
}

function Row({ end, wrong, place, isHidden }) {
  return html`<fieldset class="topology" hidden=${isHidden}><legend>${place ? 'And' : 'Groups of nodes'}</legend>
    <label>Key <input name=${`key${end}`} class="mono" list="topology-keys" autocomplete="off" placeholder="trait:CUSTOM_RACK_" ...${marks(wrong, `key${end}`, 'topology-help')} /></label>
    <label>Policy <select name=${`policy${end}`}><option value="">none</option>${Object.entries(POLICIES).map(([name, [words]]) => html`<option value=${name}>${words}</option>`)}</select></label>
    <label>At most per group <input name=${`max_per_group${end}`} type="number" min="1" /></label>
    <label>Prefer <select name=${`prefer${end}`}><option value="">any group</option><option value="fullest">the fullest</option><option value="emptiest">the emptiest</option></select></label>
    <${Wrong} error=${wrong} field=${`key${end}`} />
  </fieldset>`;
}

/** How far chosen nodes fulfil the policies. */
export function Policies({ topology = [] }) {
  return html`<ul class="policies">${topology.map(
    ({ key, policy, met, groups }) => html`<li key=${key + policy}><span class="state ${met ? 'good' : 'moving'}">${met ? 'met' : 'not met'}</span> <code>${key}</code>${policy && `, ${POLICIES[policy][0]}`}: ${groups.map(({ value, nodes }) => `${value} has ${number(nodes)}`).join(', ')}</li>`,
  )}</ul>`;
}

/** The best groups, and what to drop from the request so that they have enough nodes. */
export function Groups({ topology, explanation }) {
  const { count, largest, groups } = explanation;
  return html`<${Card} title="Groups">
    <p class="muted">Needed: ${plural(count, 'node')}. The most that can be chosen at once: ${number(largest)}.</p>
    <${Policies} topology=${topology} />
    ${!groups.length && html`<p>No node has a group for each key.</p>`}
    ${groups.length > 0 && html`<div class="chart" role="table" aria-label="The best groups, and their nodes">
      <div class="row-of-chart" role="row">
        <span role="columnheader">Group</span><span role="columnheader" class="bar-head"><span class="visually-hidden">Bar</span></span>
        <span role="columnheader" class="number">nodes</span><span role="columnheader" class="number">missing</span>
      </div>
      ${groups.map(
        ({ groups: values, nodes, relaxations }) => html`<div class="row-of-chart" role="row" key=${JSON.stringify(values)}>
          <span role="rowheader">${groupWords(values)}${relaxations.map((each) => html`<span class="reasons">${withoutWords(each.drop)}: ${plural(each.nodes, 'node')}</span>`)}</span>
          <span role="cell" class="bar-cell"><${Bar} value=${Math.min(nodes, count)} whole=${count} kind=${nodes < count ? 'used' : 'good'} /></span>
          <span role="cell" class="number">${number(nodes)}</span><span role="cell" class="number">${number(Math.max(count - nodes, 0))}</span>
        </div>`,
      )}
    </div>`}
  <//>`;
}
