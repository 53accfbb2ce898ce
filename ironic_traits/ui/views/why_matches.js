// The nodes that match a request, and those that nearly do.
import { html } from '../html.js';
import { Card, NodeLink, Trait } from '../widgets.js';
import { groupWords, unmetWords } from './clauses.js';

/** The most nodes that a request asks for. */
export const MATCHES = 50;

/** Whether there may be more nodes than these; count: the number that a request asks for, if it does. */
export function isCut(nodes, count) {
  return !count && nodes.length === MATCHES;
}

export function Matches({ nodes, count }) {
  if (!nodes.length) return null;
  const hasGroups = Object.keys(nodes[0].groups ?? {}).length > 0;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Nodes that match"><table>
    <thead><tr><th scope="col">Node</th>${hasGroups && html`<th scope="col">Group</th>`}<th scope="col">Class</th><th scope="col">Traits</th></tr></thead>
    <tbody>${nodes.slice(0, 8).map(
      (node) => html`<tr key=${node.uuid}><td class="name"><${NodeLink} uuid=${node.uuid} name=${node.name} /></td>${hasGroups && html`<td class="wrap">${groupWords(node.groups)}</td>`}<td>${node.resource_class ?? '–'}</td>
        <td class="traits"><div class="traits">${node.traits.slice(0, 6).map((name) => html`<${Trait} name=${name} />`)}${node.traits.length > 6 && html`<span class="muted">+${node.traits.length - 6}</span>`}</div></td></tr>`,
    )}</tbody>
  </table></div>
  ${nodes.length > 8 && html`<p class="muted">and ${nodes.length - 8}${isCut(nodes, count) ? ' or more' : ''} others</p>`}`;
}

export function NearMisses({ misses }) {
  return html`<${Card} title="The closest nodes">
    <div class="scroll" tabindex="0" role="region" aria-label="Table of the closest nodes"><table>
      <thead><tr><th scope="col">Node</th><th scope="col">Why it does not match</th></tr></thead>
      <tbody>${misses.slice(0, 10).map(
        (miss) => html`<tr key=${miss.node}><td class="name"><${NodeLink} uuid=${miss.node} name=${miss.name} /></td><td class="wrap">${miss.rejected_by.map(unmetWords).join('; ')}</td></tr>`,
      )}</tbody>
    </table></div>
  <//>`;
}
