// Capacity reservations: how many nodes are promised to projects.
import { get } from '../api.js';
import { useData } from '../data.js';
import { number } from '../format.js';
import { html } from '../html.js';
import { Card, Time } from '../widgets.js';

const PATH = '/v1/capacity_reservations?sort_key=name';
const NUMBERS = { count: 'Nodes', used: 'Used', left: 'Left', short: 'Short' };

/** The capacity reservations, if there are any. */
export function Promises() {
  const { data } = useData(PATH, (signal) => get(PATH, { signal }));
  const promises = data?.capacity_reservations ?? [];
  if (!promises.length) return null;
  return html`<${Card} title="Capacity reservations">
    <p class="muted">Nodes that are promised to projects. Claims of others cannot take those that are left.</p>
    ${promises.some(({ short }) => short) && html`<p class="note warn">Too few nodes are free for some of them, because nodes have changed.</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table of capacity reservations"><table class="labelled">
      <thead><tr><th scope="col">Name</th><th scope="col">Project</th>${Object.values(NUMBERS).map((label) => html`<th scope="col" class="number">${label}</th>`)}<th scope="col">Until</th></tr></thead>
      <tbody>${promises.map(
        (each) => html`<tr key=${each.uuid}>
          <td class="name">${each.name}</td>
          <td>${each.project}</td>
          ${Object.entries(NUMBERS).map(([name, label]) => html`<td class="number" data-label=${label}>${name === 'short' && each.short ? html`<span class="state bad">${number(each.short)}</span>` : number(each[name])}</td>`)}
          <td>${each.expires_at ? html`<${Time} at=${each.expires_at} />` : 'it is deleted'}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${data.next && html`<p class="muted">These are the first ones. To see all: <span class="mono">baremetal capacity reservation list</span></p>`}
  <//>`;
}
