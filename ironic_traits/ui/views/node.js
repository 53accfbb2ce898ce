// One node.
import { ApiError, get, query } from '../api.js';
import { useData } from '../data.js';
import { curl, text } from '../format.js';
import { html } from '../html.js';
import { link, placeOf, useTitle } from '../router.js';
import { Busy, Card, Command, Outage, Problem, State, Time } from '../widgets.js';
import { Hardware } from './node_hardware.js';
import { Reservation } from './node_reservation.js';
import { States } from './node_states.js';
import { Timeline } from './node_timeline.js';
import { TraitsOf } from './node_traits.js';

/** Fields that other cards show, or that are long. */
const ELSEWHERE = ['traits', 'trait_sources', 'links', 'ports', 'portgroups', 'volume', 'states', 'provision_state',
  'target_provision_state', 'power_state', 'target_power_state', 'maintenance', 'maintenance_reason', 'last_error', 'uuid', 'name'];

export function Node({ ident, parameters }) {
  const path = `/v1/nodes/${encodeURIComponent(ident)}`;
  const node = useData(path, async (signal) => {
    // The browser takes these names for steps in the path.
    if (['.', '..'].includes(ident)) throw new ApiError(404, `Node ${ident} could not be found.`);
    return get(path, { signal });
  });
  useTitle(node.data?.name);
  // A reload that fails in any other way leaves what is shown, and the draft of an edit.
  if (!node.data || node.error?.status === 404) {
    return html`<div class="title"><h1>${ident}</h1><a href=${placeOf('nodes')}>All nodes</a></div>
      ${node.error ? html`<${Problem} error=${node.error} retry=${node.reload} />` : html`<${Busy} />`}
      ${node.error?.status === 404 && html`<p><a href=${link(['changes'], { node: node.data?.uuid ?? ident })}>Its history</a>, if it was deleted</p>`}`;
  }
  // The cards load again with each turn. updated_at does not do: actions here do not change that of a mirrored node.
  const { data, turn } = node;
  return html`
    <p class="back"><a href=${placeOf('nodes')}>← Nodes</a></p>
    <div class="title">
      <h1>${data.name ?? data.uuid}</h1>
      <${State} state=${data.provision_state} />
      ${data.maintenance && html`<span class="state moving">maintenance</span>`}
      ${data.retired && html`<span class="state plain">retired</span>`}
      ${data.origin && html`<span class="state plain">mirrored from ${data.origin}</span>`}
      <span class="muted mono">${data.uuid}</span>
    </div>
    <${Facts} node=${data} />
    ${data.description && html`<p>${data.description}</p>`}
    <${Problem} error=${node.error} retry=${node.reload} at=${node.at} />
    <${Outage.Provider} value=${node.error?.message}><div class="columns">
      <div class="stack">
        <${TraitsOf} node=${data} ident=${ident} at=${parameters.get('at')} turn=${turn} onChange=${node.reload} />
        <${Timeline} node=${data} ident=${ident} at=${parameters.get('at')} turn=${turn} />
      </div>
      <div class="stack">
        <${States} node=${data} hasFailed=${Boolean(node.error)} onChange=${node.reload} />
        <${Reservation} node=${data} turn=${turn} onChange=${node.reload} />
        <${Ports} node=${data} turn=${turn} />
        <${Hardware} node=${data} turn=${turn} />
        <${Fields} node=${data} />
        <${Card} title="The same with a command">
          <${Command} label="curl">${curl(path)}<//>
          <${Command} label="baremetal">baremetal node show ${data.uuid}<//>
        <//>
      </div>
    </div><//>`;
}

/** What one asks first about a node. A value links to the nodes that have it, too. */
function Facts({ node }) {
  const facts = { Class: 'resource_class', Owner: 'owner', Lessee: 'lessee', Instance: 'instance_uuid', Driver: 'driver', Group: 'conductor_group' };
  const known = Object.entries(facts).filter(([, name]) => node[name]);
  return html`<dl class="facts">${known.map(
    ([label, name]) => html`<div><dt>${label}</dt><dd>${name === 'instance_uuid' ? node[name] : html`<a href=${link(['nodes'], { [name]: node[name] })}>${node[name]}</a>`}</dd></div>`,
  )}</dl>`;
}

function Ports({ node, turn }) {
  const path = `/v1/nodes/${node.uuid}/ports${query({ fields: 'uuid,address,pxe_enabled,physical_network,local_link_connection' })}`;
  const { data, error, at, reload } = useData(path, (signal) => get(path, { signal }), turn);
  return html`<${Card} title="Ports">
    <${Problem} error=${error} retry=${reload} at=${at} />
    ${data && !data.ports.length && html`<p class="muted">No port is registered. An inspection adds them.</p>`}
    ${data?.ports.length > 0 &&
    html`<div class="scroll" tabindex="0" role="region" aria-label="Table of ports"><table>
      <thead><tr><th scope="col">MAC address</th><th scope="col">PXE</th><th scope="col">Network</th><th scope="col">Switch</th></tr></thead>
      <tbody>${data.ports.map(
        (port) => html`<tr key=${port.uuid}><td class="mono">${port.address}</td><td>${port.pxe_enabled ? 'yes' : 'no'}</td><td>${port.physical_network ?? '–'}</td><td class="wrap">${switchOf(port.local_link_connection)}</td></tr>`,
      )}</tbody>
    </table></div>`}
  <//>`;
}

/**
 * Return the switch and the port of a local link connection.
 *
 * @param {Record<string, unknown>} connection
 */
function switchOf({ switch_info: name, switch_id: address, port_id: port } = {}) {
  return [name || address, port].filter(Boolean).map(text).join(' · ') || '–';
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
