// The history of a node, the newest entry first. Each time leads to the traits that the node had then.
import { get, nextPath, query } from '../api.js';
import { useData } from '../data.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Problem, State, Time, Trait } from '../widgets.js';

/** The entries that are shown first; and how many times more "Show older entries" shows. */
const SIZE = 30;
const GROWTH = 4;
/** The most entries that a request asks for. */
const MAX_PAGE = 1000;
/** The event of a change of the provision state: [, verb, old state, new state, the rest of the text]. */
export const TRANSITION = /^(?:Requested: ([^.]+)\. )?The provision state changed from "([^"]+)" to "([^"]+)"\.(.*)$/s;

export function Timeline({ node, ident, at, turn }) {
  const [count, setCount] = useState(SIZE);
  const { data, error, loading, reload } = useData(node.uuid, (signal) => newest({ node: node.uuid }, count, signal), `${count} ${turn}`);
  // The node is there: its page shows it.
  const isHidden = [403, 404].includes(error?.status);
  const show = (event) => {
    event.preventDefault();
    const moment = String(new FormData(event.target).get('at'));
    if (moment) go(['nodes', ident], { at: new Date(moment).toISOString() });
  };
  return html`<${Card} title="Timeline">
    <form class="row" onSubmit=${show}>
      <label>Traits at a time <input type="datetime-local" name="at" step="1" max="9999-12-31T23:59:59" /></label>
      <button type="submit">Show</button>
    </form>
    ${isHidden ? html`<p class="muted" role="status">Your project may not see the history of this node.</p>` : html`<${Problem} error=${error} retry=${reload} />`}
    ${!data && loading && html`<${Busy} />`}
    ${data && !data.history.length && html`<p class="muted">There are no entries. Old ones are purged: see [history] in the configuration.</p>`}
    <ol class="timeline">
      ${(data?.history ?? []).map((entry) => html`<${Entry} key=${entry.uuid} entry=${entry} ident=${ident} at=${at} />`)}
    </ol>
    ${data?.next && html`<button type="button" disabled=${loading} onClick=${() => setCount(GROWTH * count)}>${loading ? 'Loading …' : 'Show older entries'}</button>`}
  <//>`;
}

/**
 * Load the newest entries that pass filters, at least count of them if there are that many.
 *
 * Returns {history, next}: the newest entry first; next is null after the oldest one.
 */
export async function newest(filters, count, signal) {
  /** @type {string | null} */
  let path = `/v1/history${query({ ...filters, sort_dir: 'desc', limit: Math.min(count, MAX_PAGE) })}`;
  const history = [];
  while (path && history.length < count) {
    const page = await get(path, { signal });
    history.push(...page.history);
    path = page.next ? nextPath(page.next) : null;
  }
  return { history, next: path };
}

function Entry({ entry, ident, at }) {
  const isShown = at && Date.parse(at.replaceAll(' ', '+')) === Date.parse(entry.created_at);
  const target = link(['nodes', ident], { at: entry.created_at });
  return html`<li class="${entry.severity} ${entry.event_type}-event ${isShown ? 'current' : ''}">
    <div class="when">
      <${Time} at=${entry.created_at} /><span>${entry.event_type}</span>
      ${entry.user && html`<span>by ${entry.user}</span>`}
      ${entry.event_type === 'trait' && html`<a href=${target} aria-current=${isShown ? 'true' : undefined}>traits at this time</a>`}
    </div>
    <${What} entry=${entry} />
  </li>`;
}

/** An event in its words, with chips for the provision states. */
function Happening({ entry: { event, provision_state: state } }) {
  const [, verb, from, to, rest] = TRANSITION.exec(event) ?? [];
  if (from) return html`<${State} state=${from} /> <span aria-hidden="true">→</span><span class="visually-hidden">to</span> <${State} state=${to} /> ${verb && html`<span class="muted">requested: ${verb}</span>`}${rest}`;
  return html`${state && html`<${State} state=${state} /> `}${event}`;
}

/** What happened: the traits of a write of traits, the sentence of anything else. */
export function What({ entry, most = Infinity }) {
  if (!entry.added && !entry.removed) return html`<div class="what"><${Happening} entry=${entry} /></div>`;
  const added = entry.added ?? [];
  const removed = entry.removed ?? [];
  const rest = added.length + removed.length - most;
  return html`<div class="what traits"><span>${entry.source}:</span>
    ${added.slice(0, most).map((name) => html`<span>+ <${Trait} name=${name} kind="new" /></span>`)}
    ${removed.slice(0, Math.max(most - added.length, 0)).map((name) => html`<span>− <${Trait} name=${name} kind="gone" /></span>`)}
    ${rest > 0 && html`<span class="muted">and ${rest} more</span>`}
  </div>`;
}
