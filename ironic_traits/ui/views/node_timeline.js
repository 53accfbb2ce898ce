// The history of a node, the newest entry first. Each time leads to the traits that the node had then.
import { get, query } from '../api.js';
import { useData } from '../data.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Problem, Time, Trait } from '../widgets.js';

export const SIZE = 30;

export function Timeline({ node, at, turn }) {
  const [limit, setLimit] = useState(SIZE);
  const path = `/v1/history${query({ node: node.uuid, sort_dir: 'desc', limit })}`;
  const { data, error, loading, reload } = useData(`${path} ${turn}`, (signal) => get(path, { signal }));
  const show = (event) => {
    event.preventDefault();
    const moment = new FormData(event.target).get('at');
    if (moment) go(['nodes', node.uuid], { at: new Date(moment).toISOString() });
  };
  return html`<${Card} title="Timeline">
    <form class="row" onSubmit=${show}>
      <label>Traits at a time <input type="datetime-local" name="at" step="1" /></label>
      <button type="submit">Show</button>
    </form>
    <${Problem} error=${error} retry=${reload} />
    ${!data && loading && html`<${Busy} />`}
    ${data && !data.history.length && html`<p class="muted">There are no entries. Old ones are purged: see [history] in the configuration.</p>`}
    <ol class="timeline">
      ${(data?.history ?? []).map((entry) => html`<${Entry} key=${entry.uuid} entry=${entry} node=${node} at=${at} />`)}
    </ol>
    ${data?.next && html`<button type="button" onClick=${() => setLimit(limit + 4 * SIZE)}>Show older entries</button>`}
  <//>`;
}

function Entry({ entry, node, at }) {
  const isShown = at && Date.parse(at.replaceAll(' ', '+')) === Date.parse(entry.created_at);
  const target = link(['nodes', node.uuid], { at: entry.created_at });
  return html`<li class="${entry.severity} ${entry.event_type}-event ${isShown ? 'current' : ''}">
    <div class="when">
      <${Time} at=${entry.created_at} /><span>${entry.event_type}</span>
      ${entry.user && html`<span>by ${entry.user}</span>`}
      ${entry.event_type === 'trait' && html`<a href=${target} aria-current=${isShown ? 'true' : undefined}>traits at this time</a>`}
    </div>
    <${What} entry=${entry} />
  </li>`;
}

/** What happened: the traits of a write of traits, the sentence of anything else. */
export function What({ entry }) {
  if (!entry.added && !entry.removed) return html`<div class="what">${entry.event}</div>`;
  return html`<div class="what traits"><span>${entry.source}:</span>
    ${(entry.added ?? []).map((name) => html`<span>+ <${Trait} name=${name} kind="new" /></span>`)}
    ${(entry.removed ?? []).map((name) => html`<span>− <${Trait} name=${name} kind="gone" /></span>`)}
  </div>`;
}
