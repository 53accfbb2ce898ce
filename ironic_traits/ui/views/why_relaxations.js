// The nodes that match a request, those that nearly do, and what the request would match without some of its clauses.
import { request } from '../api.js';
import { useData } from '../data.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, NodeLink, Problem, Traits } from '../widgets.js';
import { dropWords, groupWords, unmetWords, withoutWords } from './clauses.js';
import { useValues } from './fields.js';
import { requestFilters } from './filters.js';

/** The most nodes that a request asks for. */
export const MATCHES = 50;
/** How many of the nodes that match are shown at first. */
const FEW = 8;

/** Clauses of requirements, which a request can leave out; those of "eligible" it cannot. */
const DROPPABLE = /^(required|required_any|forbidden|resource_class|topology):/;

function isDroppable(clauses) {
  return clauses.every((clause) => DROPPABLE.test(clause) || requestFilters().includes(clause.split(':')[0]));
}

/** Return the filters of a request: {name: value}. */
export function limitsOf(merged) {
  return Object.fromEntries(requestFilters().filter((name) => merged[name]).map((name) => [name, merged[name]]));
}

/** The relaxations; dropped: the clauses of the one that is shown, none if it is empty. onDrop gets others. */
export function Relaxations({ relaxations, merged, dropped, onDrop }) {
  const hasLinks = !relaxations.every(({ drop }) => isDroppable(drop));
  const names = useClassesNamed(hasLinks ? merged.resource_class : null);
  return html`<${Card} title="What would help">
    <ul class="relaxations">
      ${relaxations.map(({ drop, nodes }) => {
        const label = html`<span>${isDroppable(drop) ? dropWords(drop) : withoutWords(drop)}</span><span class="gain">→ ${plural(nodes, 'node')}</span>`;
        if (!isDroppable(drop)) {
          // Without its classes, the link would list other nodes than it says.
          const target = names ? { href: link(['nodes'], filters(without(merged, drop), names)) } : { 'aria-disabled': 'true' };
          return html`<li key=${drop.join()}><a class="button" ...${target}>${label}</a></li>`;
        }
        const isShown = dropped.join() === drop.join();
        return html`<li key=${drop.join()}><button type="button" aria-pressed=${isShown} onClick=${() => onDrop(isShown ? [] : drop)}>${label}</button></li>`;
      })}
    </ul>
    ${hasLinks && html`<p class="muted">A request cannot leave out a condition on the state of a node. The link lists the nodes in any state that have the other traits${merged.resource_class && names && (names.length === 1 ? ' and the class' : ', of any class')}.</p>`}
  <//>`;
}

/** Return the resource classes of nodes that have a name in Placement: [name, …]; null until they are known. */
function useClassesNamed(placementName) {
  const { data, error } = useValues('resource_class', Boolean(placementName));
  if (!placementName || error) return [];
  return data ? data.map(({ value }) => value).filter((name) => normalized(name) === placementName) : null;
}

/** Return the name of a resource class in Placement. */
function normalized(name) {
  return `CUSTOM_${name.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`;
}

/**
 * Return the filters of the list of nodes for requirements.
 *
 * @param {Record<string, any>} requirements
 * @param {string[]} names the classes of nodes that the required one may mean.
 */
function filters({ required = [], required_any = [], forbidden = [], resource_class, ...others }, names) {
  return {
    ...limitsOf(others),
    traits: required.join(','),
    'traits-any': required_any.map((each) => each.join(',')),
    'not-traits-any': forbidden.join(','),
    ...(resource_class && names.length === 1 && { resource_class: names[0] }),
    columns: 'name,resource_class,provision_state,power_state,maintenance,reservation_uuid,instance_uuid',
  };
}

/** Return the merged request without some clauses. */
function without(merged, dropped) {
  const left = (kind, name) => !dropped.includes(`${kind}:${name}`);
  const body = {
    required: merged.required.filter((name) => left('required', name)),
    required_any: merged.required_any.filter((names) => left('required_any', [...names].sort().join(',')) && left('required_any', names.join(','))),
    forbidden: merged.forbidden.filter((name) => left('forbidden', name)),
    topology: (merged.topology ?? []).filter(({ key }) => left('topology', key)),
  };
  body.relative_to = body.topology.length ? (merged.relative_to ?? []) : [];
  for (const [name, value] of Object.entries({ resource_class: merged.resource_class, ...limitsOf(merged) })) {
    if (value && left(name, value)) body[name] = value;
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value.length));
}

/** The nodes that match without some clauses; turn: another one loads them again. */
export function Relaxed({ merged, dropped, turn }) {
  const { count } = merged;
  const body = { required: [], ...without(merged, dropped), count, limit: MATCHES };
  const { data, error, reload } = useData(JSON.stringify(body), (signal) => request('POST', '/v1/matches', body, { signal }), turn);
  return html`<${Card} title=${withoutWords(dropped)}>
    <${Problem} error=${error} retry=${reload} />
    ${!data && !error && html`<${Busy} />`}
    ${data && html`<p role="status">${would(data.nodes, count)}</p><${Matches} nodes=${data.nodes} count=${count} />`}
  <//>`;
}

/** Return what a request would get; count: the number of nodes that it asks for, if it does. They are all that it gets. */
function would(nodes, count) {
  if (count) return nodes.length ? `${plural(nodes.length, 'node')} could be chosen.` : `There are not ${plural(count, 'such node')}.`;
  return `${plural(nodes.length, 'node')}${isCut(nodes, count) ? ' or more' : ''} would match.`;
}

/** Whether there may be more nodes than these; count: the number that a request asks for, if it does. */
export function isCut(nodes, count) {
  return !count && nodes.length === MATCHES;
}

export function Matches({ nodes, count }) {
  const [hasAll, setAll] = useState(false);
  if (!nodes.length) return null;
  const others = nodes.length - FEW;
  const hasGroups = Object.keys(nodes[0].groups ?? {}).length > 0;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Nodes that match"><table>
    <thead><tr><th scope="col">Node</th>${hasGroups && html`<th scope="col">Group</th>`}<th scope="col">Class</th><th scope="col">Traits</th></tr></thead>
    <tbody>${nodes.slice(0, hasAll ? undefined : FEW).map(
      (node) => html`<tr key=${node.uuid}><td class="name"><${NodeLink} uuid=${node.uuid} name=${node.name} /></td>${hasGroups && html`<td class="wrap">${groupWords(node.groups)}</td>`}<td>${node.resource_class ?? '–'}</td>
        <td class="traits"><${Traits} names=${node.traits} /></td></tr>`,
    )}</tbody>
  </table></div>
  ${others > 0 && !hasAll && html`<button type="button" class="small" onClick=${() => setAll(true)}>Show ${plural(others, 'other')}</button>`}
  ${isCut(nodes, count) && html`<p class="muted">and perhaps more: the first ${nodes.length} are read</p>`}`;
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
