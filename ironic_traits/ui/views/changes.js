// The last history entries of all nodes.
import { get, query } from '../api.js';
import { useData } from '../data.js';
import { curl, hoursAgo } from '../format.js';
import { fieldsOf, useFields } from '../forms.js';
import { html } from '../html.js';
import { go, link } from '../router.js';
import { useEffect, useState } from '../vendor/hooks.js';
import { Busy, Command, Empty, Pager, Problem, Time } from '../widgets.js';
import { What } from './node_timeline.js';

const TYPES = ['provisioning', 'power', 'maintenance', 'reservation', 'node', 'trait', 'inspection'];
const FILTERS = ['event_type', 'severity', 'node', 'trait', 'source'];
/** The fields of the form, as they are in the URL. */
const FIELDS = [...FILTERS, 'hours'];
/** The choice of times from which on entries are listed: {hours until now: label}. A link may have up to MAX_HOURS. */
const MAX_HOURS = 100000;
const PERIODS = { 1: 'last hour', 24: 'last day', 168: 'last week' };
const SIZE = 50;
/** Milliseconds between two looks at what is new. */
const PAUSE = 5000;

export function Changes({ parameters }) {
  const [following, setFollowing] = useState(false);
  const asked = Number(parameters.get('hours'));
  const hours = asked > 0 && asked <= MAX_HOURS ? String(asked) : null;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name)]));
  const present = { ...filters, hours };
  const marker = parameters.get('marker');
  const path = (paging = {}) => `/v1/history${query({ ...filters, since: hours && hoursAgo(Number(hours)), sort_dir: 'desc', ...paging })}`;
  const { data, at, error, loading, isStale, reload } = useData(query({ ...present, marker }), (signal) => get(path({ limit: SIZE, marker }), { signal }));
  const form = useFields(FIELDS, parameters);
  useEffect(() => {
    // The next look begins after the response to the last one, however long that takes.
    if (!following || loading) return undefined;
    const timer = setTimeout(reload, PAUSE);
    return () => clearTimeout(timer);
  }, [following, loading]);
  const search = (event) => {
    event.preventDefault();
    const { trait, ...others } = fieldsOf(event.target, FIELDS);
    go(['changes'], { ...others, trait: trait?.toUpperCase() });
  };
  return html`
    <div class="title"><h1>Changes</h1><span class="muted">the newest first</span></div>
    <section class="card" aria-label="Changes">
      <form class="row" ref=${form} onSubmit=${search}>
        <label>Kind <select name="event_type">
          <option value="">all</option>${TYPES.map((type) => html`<option value=${type}>${type}</option>`)}
        </select></label>
        <label>Result <select name="severity"><option value="">all</option><option value="ERROR">failures</option></select></label>
        <label>When <select name="hours">
          <option value="">at any time</option>${Object.entries({ ...PERIODS, ...(hours && { [hours]: PERIODS[hours] ?? `last ${hours} hours` }) }).map(([value, label]) => html`<option value=${value}>${label}</option>`)}
        </select></label>
        <label>Node <input name="node" placeholder="name or uuid" /></label>
        <label>Trait <input name="trait" class="mono" /></label>
        <label>Source <input name="source" placeholder="operator, rules, …" /></label>
        <button type="submit">Filter</button>
        <label class="check"><input type="checkbox" checked=${following} onChange=${(event) => setFollowing(event.target.checked)} /> Reload every 5 seconds</label>
      </form>
      <${Problem} error=${error} retry=${reload} at=${at} ways=${marker && { 404: ['First page', link(['changes'], present)] }} />
      ${(!data || (isStale && !data.history.length)) && loading && html`<${Busy} />`}
      ${data && !isStale && !data.history.length && html`<${None} isFiltered=${Object.values(present).some(Boolean)} />`}
      ${data?.history.length > 0 &&
      html`<div class="scroll ${isStale ? 'stale' : ''}" tabindex="0" role="region" aria-label="Table of changes"><table>
        <thead><tr><th scope="col">When</th><th scope="col">Node</th><th scope="col">Kind</th><th scope="col">What</th><th scope="col">Who</th></tr></thead>
        <tbody>${data.history.map(
          (entry) => html`<tr key=${entry.uuid}>
            <td><${Time} at=${entry.created_at} both /></td>
            <td class="name"><a href=${link(['nodes', entry.node_uuid], entry.event_type === 'trait' ? { at: entry.created_at } : {})} title=${entry.node_uuid}>
              ${entry.node_name ?? html`<span class="mono">${entry.node_uuid}</span>`}</a></td>
            <td><span class="state ${entry.severity === 'ERROR' ? 'bad' : 'plain'}">${entry.event_type}</span></td>
            <td class="wrap"><${What} entry=${entry} /></td>
            <td>${entry.user ?? '–'}</td>
          </tr>`,
        )}</tbody>
      </table></div>
      <${Pager} path=${['changes']} parameters=${{ ...present, marker }} next=${data.next} isStale=${isStale} />`}
      <details class="commands"><summary>The same with a command</summary><${Command} label="curl">${curl(path())}<//></details>
    </section>`;
}

function None({ isFiltered }) {
  const title = isFiltered ? 'No entry matches these filters.' : 'There are no entries yet.';
  return html`<${Empty} title=${title}>
    <p>${isFiltered && 'Remove a filter. '}Old entries are purged: see [history] in the configuration.</p><//>`;
}
