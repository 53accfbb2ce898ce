// The live reservations.
import { get, query, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { HOUR, curl, plural, quote } from '../format.js';
import { fieldsOf, useFields } from '../forms.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Command, Confirm, Empty, NodeLink, Pager, Problem, Time } from '../widgets.js';

const SIZE = 50;
/** How many reserved nodes are read at once. With more, those of the page are read one by one. */
const MANY = 100;
/** What the table shows of a node. */
const FIELDS = 'uuid,name,owner,lessee';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function Reservations({ parameters }) {
  const marker = parameters.get('marker');
  const sought = parameters.get('search') ?? '';
  const filters = (UUID.test(sought) ? ['instance_uuid', 'node'] : ['node']).map((name) => ({ [name]: sought }));
  const { data, error, loading, isStale, at, reload } = useData(`${sought} ${marker}`, (signal) => load(filters, marker, signal));
  const [filter] = data ? [data.filter] : filters;
  const form = useFields(['search'], parameters);
  const [asking, setAsking] = useState(null);
  const release = async ({ uuid }) => request('DELETE', `/v1/reservations/${uuid}`);
  const [run, state] = useAction(async (change, each) => {
    await change(each);
    await reload();
  }, reload);
  const search = (event) => {
    event.preventDefault();
    go(['reservations'], fieldsOf(event.target, ['search']));
  };
  return html`
    <div class="title"><h1>Reservations</h1><span class="muted" role="status">${data && `${plural(data.reservations.length, 'reservation')}${data.next || marker ? ' on this page' : ''}`}</span>
      <form class="search" role="search" ref=${form} onSubmit=${search}>
        <input type="search" name="search" aria-label="Find a reservation" placeholder="Name of a node, or uuid of it or of an instance" />
        <button type="submit">Search</button>
      </form>
    </div>
    <section class="card" aria-label="Reservations">
      <${Problem} error=${error} retry=${reload} at=${at} ways=${marker && { 404: ['First page', link(['reservations'], { search: sought })] }} />
      <${Problem} error=${state.error} />
      ${(!data || (isStale && !data.reservations.length)) && loading && html`<${Busy} />`}
      ${data && !isStale && !data.reservations.length && html`<${Empty} title=${sought ? 'No reservation matches.' : 'Nothing is reserved.'}>
        <p>The view <a href="#/why">Why</a> finds a node that matches, and reserves it.</p><//>`}
      ${data?.reservations.length > 0 &&
      html`<div class="scroll ${isStale ? 'stale' : ''}" tabindex="0" role="region" aria-label="Table of reservations"><table>
        <thead><tr><th scope="col">Node</th><th scope="col">Instance</th><th scope="col">Project</th><th scope="col">Since</th><th scope="col">Until</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${data.reservations.map(
          (each) => html`<tr key=${each.uuid}>
            <td class="name"><${NodeLink} uuid=${each.node_uuid} name=${data.nodes.get(each.node_uuid)?.name} /></td>
            <td class="mono">${each.instance_uuid}</td>
            <td>${owner(data.nodes.get(each.node_uuid))}</td>
            <td><${Time} at=${each.created_at} both /></td>
            <td>${each.expires_at ? html`<${Time} at=${each.expires_at} both />` : 'it is released'}</td>
            <td>${each.expires_at && html`<button type="button" class="small" disabled=${state.running} aria-label=${`Extend by 1 hour: ${each.instance_uuid}`}
                  onClick=${() => run(extend, each)}>Extend by 1 hour</button>`}${' '}
                <button type="button" class="small" disabled=${state.running} aria-label=${`Release ${each.instance_uuid}`} onClick=${() => setAsking(each)}>Release</button></td>
          </tr>`,
        )}</tbody>
      </table></div>
      <${Pager} path=${['reservations']} parameters=${{ search: sought, marker }} next=${data.next} isStale=${isStale} />`}
      <details class="commands"><summary>The same with a command</summary>
        <${Command} label="curl">${curl(`/v1/reservations${query(filter)}`)}<//>
        <${Command} label="baremetal">${`baremetal reservation list${sought && ` ${filter.node ? '--node' : '--instance'}${sought.startsWith('-') ? '=' : ' '}${quote(sought)}`}`}<//>
      </details>
    </section>
    ${asking &&
    html`<${Confirm} title="Release the node?" action="Release" danger onClose=${() => setAsking(null)} onConfirm=${() => run(release, asking)}>
      <p>The node ${data.nodes.get(asking.node_uuid)?.name ?? asking.node_uuid} is reserved for the instance <span class="mono">${asking.instance_uuid}</span>. Other users can reserve it after the release.</p>
    <//>`}`;
}

/** Let a reservation end an hour later. It may end at another time than what is shown. */
async function extend({ uuid }) {
  const { reservation } = await get(`/v1/reservations/${uuid}`);
  if (!reservation.expires_at) return;
  const end = new Date(Date.parse(reservation.expires_at) + HOUR);
  await request('POST', `/v1/reservations/${uuid}/renew`, { expires_at: end.toISOString() });
}

function owner(node) {
  return [node?.owner && `owner ${node.owner}`, node?.lessee && `lessee ${node.lessee}`].filter(Boolean).join(', ') || '–';
}

/** Load a page of reservations by the first filter that finds some, with the names and projects of their nodes. */
async function load(filters, marker, signal) {
  let page = /** @type {any} */ ({ reservations: [] });
  for (const filter of filters) {
    const path = `/v1/reservations${query({ ...filter, limit: SIZE, marker })}`;
    try {
      page = { filter, ...(await get(path, { signal })) };
    } catch (error) {
      // A uuid need not be that of a node.
      if (error.status !== 404 || filter === filters[0]) throw error;
    }
    if (page.reservations.length) break;
  }
  const nodes = new Map();
  if (!page.reservations.length) return { ...page, nodes };
  const list = await get(`/v1/nodes${query({ reserved: true, fields: FIELDS, limit: MANY, include_children: true })}`, { signal });
  list.nodes.forEach((node) => nodes.set(node.uuid, node));
  const missing = page.reservations.map((each) => each.node_uuid).filter((uuid) => !nodes.has(uuid));
  const others = await Promise.all(missing.map((uuid) => nodeOf(uuid, signal)));
  others.filter(Boolean).forEach((node) => nodes.set(node.uuid, node));
  return { ...page, nodes };
}

/** Return FIELDS of a node; null if it was deleted or the user may not see it. */
function nodeOf(uuid, signal) {
  return get(`/v1/nodes/${uuid}?fields=${FIELDS}`, { signal }).catch((error) => {
    if (error.status !== 403 && error.status !== 404) throw error;
    return null;
  });
}
