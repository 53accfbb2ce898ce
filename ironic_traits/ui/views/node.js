// One node.
import { get, query } from '../api.js';
import { useData } from '../data.js';
import { curl, text } from '../format.js';
import { html } from '../html.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Command, Problem, State, Time } from '../widgets.js';
import { Reservation } from './node_reservation.js';
import { States } from './node_states.js';
import { Timeline } from './node_timeline.js';
import { TraitsOf } from './node_traits.js';

/** Fields that other cards show, or that are long. */
const ELSEWHERE = ['traits', 'trait_sources', 'links', 'ports', 'portgroups', 'volume', 'states', 'provision_state',
  'target_provision_state', 'power_state', 'target_power_state', 'maintenance', 'maintenance_reason', 'last_error', 'uuid', 'name'];

export function Node({ ident, parameters }) {
  const path = `/v1/nodes/${encodeURIComponent(ident)}`;
  const node = useData(path, (signal) => get(path, { signal }));
  // A reload that fails in any other way leaves what is shown, and the draft of an edit.
  if (!node.data || node.error?.status === 404) {
    return html`<div class="title"><h1>${ident}</h1><a href="#/nodes">All nodes</a></div>
      ${node.error ? html`<${Problem} error=${node.error} retry=${node.reload} />` : html`<${Busy} />`}`;
  }
  // The cards load again with each turn. updated_at does not do: actions here do not change that of a mirrored node.
  const { data, turn } = node;
  return html`
    <div class="title">
      <h1>${data.name ?? data.uuid}</h1>
      <${State} state=${data.provision_state} />
      ${data.maintenance && html`<span class="state moving">maintenance</span>`}
      ${data.retired && html`<span class="state plain">retired</span>`}
      ${data.origin && html`<span class="state plain">mirrored from ${data.origin}</span>`}
      <span class="muted mono">${data.uuid}</span>
    </div>
    ${data.description && html`<p>${data.description}</p>`}
    <${Problem} error=${node.error} retry=${node.reload} />
    <div class="columns">
      <div class="stack">
        <${TraitsOf} node=${data} at=${parameters.get('at')} turn=${turn} onChange=${node.reload} />
        <${Timeline} node=${data} at=${parameters.get('at')} turn=${turn} />
      </div>
      <div class="stack">
        <${States} node=${data} hasFailed=${Boolean(node.error)} onChange=${node.reload} />
        <${Reservation} node=${data} onChange=${node.reload} />
        <${Ports} node=${data} />
        <${Inventory} node=${data} />
        <${Fields} node=${data} />
        <${Card} title="The same with a command">
          <${Command} label="curl">${curl(path)}<//>
          <${Command} label="baremetal">baremetal node show ${data.uuid}<//>
        <//>
      </div>
    </div>`;
}

function Ports({ node }) {
  const path = `/v1/nodes/${node.uuid}/ports${query({ fields: 'uuid,address,pxe_enabled,physical_network,name' })}`;
  const { data, error, reload } = useData(path, (signal) => get(path, { signal }), node.updated_at);
  return html`<${Card} title="Ports">
    <${Problem} error=${error} retry=${reload} />
    ${data && !data.ports.length && html`<p class="muted">No port is registered. An inspection adds them.</p>`}
    ${data?.ports.length > 0 &&
    html`<div class="scroll" tabindex="0" role="region" aria-label="Table of ports"><table>
      <thead><tr><th scope="col">MAC address</th><th scope="col">PXE</th><th scope="col">Network</th></tr></thead>
      <tbody>${data.ports.map(
        (port) => html`<tr key=${port.uuid}><td class="mono">${port.address}</td><td>${port.pxe_enabled ? 'yes' : 'no'}</td><td>${port.physical_network ?? '–'}</td></tr>`,
      )}</tbody>
    </table></div>`}
  <//>`;
}

function Inventory({ node }) {
  const path = `/v1/nodes/${node.uuid}/inventory`;
  // Only the route of the data says whether there are any: for a node without them, it is a 404.
  const [wanted, setWanted] = useState(Boolean(node.inspection_finished_at));
  const load = async (signal) => (await get(path, { signal })).inventory;
  const { data, error, reload } = useData(wanted ? path : null, load, node.updated_at);
  const none = error?.status === 404 && error.body.code !== 'baremetal.node.not_found';
  return html`<${Card} title="Inventory">
    ${!wanted && html`<button type="button" onClick=${() => setWanted(true)}>Show the data of inspections</button>`}
    ${none ? html`<p class="muted" role="status">There are none. The verb “inspect” collects them.</p>` : html`<${Problem} error=${error} retry=${reload} />`}
    ${data &&
    html`<dl class="fields">
        ${summary(data).map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}
        ${node.inspection_finished_at && html`<dt>Inspected</dt><dd><${Time} at=${node.inspection_finished_at} ago /></dd>`}
      </dl>
      <details><summary>All data</summary><pre tabindex="0">${JSON.stringify(data, null, 2)}</pre></details>`}
  <//>`;
}

/** What a disk is. BMCs do not know it of all disks. */
const MEDIA = new Map([[true, 'HDD'], [false, 'SSD']]);

/** Return what most people look for in the data of an inspection: [[label, value], …]. */
function summary(data) {
  const disks = (Array.isArray(data.disks) ? data.disks : []).map(
    (disk) => `${disk?.name ?? '?'} ${Math.round((disk?.size ?? 0) / 1e9)} GB ${MEDIA.get(disk?.rotational) ?? 'unknown'}`,
  );
  const memory = data.memory?.physical_mb;
  return [
    ['CPU', [data.cpu?.count && `${data.cpu.count} ×`, data.cpu?.model_name, data.cpu?.architecture].filter(Boolean).map(text).join(' ')],
    ['Memory', memory ? `${Math.round(memory / 1024)} GiB` : ''],
    ['Disks', disks.join(', ')],
    ['Hostname', text(data.hostname)],
  ].filter(([, value]) => value);
}

function Fields({ node }) {
  const shown = Object.entries(node)
    .filter(([name, value]) => !ELSEWHERE.includes(name) && value !== null && value !== '' && value !== false)
    .filter(([, value]) => typeof value !== 'object' || Object.keys(value).length > 0);
  return html`<${Card} title="All fields">
    <details>
      <summary>Show ${shown.length} fields with a value</summary>
      <dl class="fields">${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${name.endsWith('_at') ? html`<${Time} at=${value} />` : text(value)}</dd>`)}</dl>
    </details>
  <//>`;
}
