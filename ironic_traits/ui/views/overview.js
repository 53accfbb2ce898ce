// How the fleet is: what waits for a person, the nodes by state and class, and what has happened.
import { get, isOperator, query } from '../api.js';
import { useData } from '../data.js';
import { hoursAgo, number, plural } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { useContext, useEffect, useState } from '../vendor/hooks.js';
import { Bar, Busy, Card, NodeLink, Outage, Problem, State, Time, kindOf } from '../widgets.js';
import { Available } from './available.js';
import { Bars, MAX_CLASSES, classes } from './capacity.js';
import { NoNodes } from './examples.js';
import { What } from './node_timeline.js';

/** Milliseconds between two readings, while the tab is visible. */
const PAUSE = 30000;
/** The most failures that are counted. */
const MAX_FAILURES = 100;
/** How many entries are shown, and how many traits of each. */
const SHOWN = 6;
const FEW = 3;
/** Statuses of what the user may not see. */
const HIDDEN = [403, 404];

export function Overview() {
  const [turn, again] = useTurns();
  const facets = useData('facets', (signal) => get('/v1/facets?by=provision_state,maintenance&limit=50', { signal }), turn);
  const capacity = useData('capacity', classes, turn);
  const failures = useData('failures', (signal) => get(recent(24, { severity: 'ERROR', limit: MAX_FAILURES }), { signal }), turn);
  const changes = useData('changes', (signal) => get(recent(1, { limit: SHOWN }), { signal }), turn);
  const nodes = facets.data?.nodes;
  if (nodes === 0) return html`<${Title} nodes=${0} /><${Problem} error=${facets.error} retry=${again} at=${facets.at} /><section class="card"><${NoNodes} onCreate=${facets.reload} /></section>`;
  return html`
    <${Title} nodes=${nodes} />
    <${Problem} error=${facets.error} retry=${again} at=${facets.at} />
    <${Outage.Provider} value=${facets.error?.message}><div class="columns">
      <div class="stack">
        <${Waiting} ...${{ facets, capacity, turn }} />
        <${Card} title="Nodes by class">
          <${Problem} error=${capacity.error} retry=${capacity.reload} at=${capacity.at} />
          ${capacity.data ? html`<${Bars} flavors=${capacity.data.slice(0, MAX_CLASSES)} areClasses /><${More} number=${capacity.data.length - MAX_CLASSES} />` : !capacity.error && html`<${Busy}>Counting …<//>`}
        <//>
        <${Card} title="Nodes by state">
          ${facets.data ? html`<${States} facets=${facets.data} />` : !facets.error && html`<${Busy} />`}
        <//>
        <${Available} />
      </div>
      <div class="stack">
        <${Failures} failures=${failures} />
        <${Card} title="Changes of the last hour" actions=${html`<a href="#/changes">All changes</a>`}>
          <${Entries} state=${changes} none="Nothing has changed." />
        <//>
        <${Workers} turn=${turn} />
      </div>
    </div><//>`;
}

/** How many classes are not shown, if there are any. */
function More({ number: count }) {
  return count > 0 && html`<p class="muted">and <a href=${link(['racks'], { key: 'resource_class' })}>${number(count)} other ${count === 1 ? 'class' : 'classes'}</a></p>`;
}

/**
 * Return a number that rises every PAUSE while the tab is visible, and when it becomes visible again; and a function that
 * raises it.
 */
function useTurns() {
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((old) => old + 1);
  useEffect(() => {
    const look = () => document.visibilityState === 'visible' && again();
    const timer = setInterval(look, PAUSE);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);
  return [turn, again];
}

/** Return the path of the history of the last hours, the newest entry first. */
function recent(hours, parameters) {
  return `/v1/history${query({ since: hoursAgo(hours), sort_dir: 'desc', ...parameters })}`;
}

function Title({ nodes }) {
  return html`<div class="title"><h1>Overview</h1><span class="muted" role="status">${nodes === undefined ? '' : plural(nodes, 'node')}</span></div>`;
}

/** What waits for a person: each line leads to what it is about. */
function Waiting({ facets, capacity, turn }) {
  const mirrors = useData(isOperator() ? '/v1/mirrors' : null, (signal) => get('/v1/mirrors', { signal }), turn);
  const promises = useData('promises', (signal) => get('/v1/capacity_reservations', { signal }), turn);
  const known = facets.data?.facets ?? { provision_state: [], maintenance: [] };
  const others = [mirrors, promises].filter(({ error }) => !HIDDEN.includes(error?.status));
  const lines = [
    ...known.provision_state
      .filter(({ value }) => /failed$|^error$/.test(value ?? ''))
      .map(({ value, nodes }) => [plural(nodes, 'node'), `in state ${value}`, link(['nodes'], { provision_state: value })]),
    ...known.maintenance
      .filter(({ value }) => value === true)
      .map(({ nodes }) => [plural(nodes, 'node'), 'in maintenance', link(['nodes'], { maintenance: 'true' })]),
    [(capacity.data ?? []).reduce((sum, { unavailable }) => sum + (unavailable.expectation ?? 0), 0), 'free but for a rule that expects something else', '#/capacity'],
    ...(promises.data?.capacity_reservations ?? [])
      .filter(({ short }) => short)
      .map(({ name, short }) => [plural(short, 'node'), `missing for capacity reservation ${name}`, '#/capacity']),
    ...(mirrors.data?.mirrors ?? []).flatMap(problemsOf),
  ].filter(([count]) => count);
  const isComplete = [facets, capacity, ...others].every(({ data, loading }) => data || !loading);
  return html`<${Card} title="Waits for a person">
    ${others.map((state) => html`<${Problem} error=${state.error} retry=${state.reload} at=${state.at} />`)}
    ${lines.length
      ? html`<ul class="waiting">${lines.map(([count, words, target]) => html`<li><a href=${target}><b>${typeof count === 'number' ? plural(count, 'node') : count}</b> ${words}</a></li>`)}</ul>`
      : !isComplete ? html`<${Busy} />` : [facets, capacity, ...others].every(({ error }) => !error) && html`<p class="muted">Nothing.</p>`}
  <//>`;
}

function problemsOf(mirror) {
  const nodes = link(['nodes'], { origin: mirror.name });
  return [
    [mirror.conflicts && plural(mirror.conflicts, 'conflict'), `with cloud ${mirror.name}`, nodes],
    [mirror.missing_nodes && plural(mirror.missing_nodes, 'node'), `missing in cloud ${mirror.name}`, nodes],
    [mirror.failing_since && 'The mirror', `of cloud ${mirror.name} fails: ${mirror.last_error}`, nodes],
    [mirror.waits_for.includes('writes') && 'Traits', `wait to be written to cloud ${mirror.name}`, nodes],
  ];
}

function States({ facets }) {
  const whole = Math.max(1, ...facets.facets.provision_state.map(({ nodes }) => nodes));
  return html`<div class="chart states" role="table" aria-label="Nodes by state">
    ${facets.facets.provision_state.map(
      ({ value, nodes }) => html`<div class="row-of-chart" role="row">
        <span role="rowheader"><a href=${link(['nodes'], { provision_state: value })}><${State} state=${value} /></a></span>
        <span role="cell" class="bar-cell"><${Bar} value=${nodes} whole=${whole} kind=${kindOf(value)} /></span>
        <span role="cell" class="number"><a href=${link(['nodes'], { provision_state: value })} aria-label=${`${plural(nodes, 'node')} in state ${value}`}>${number(nodes)}</a></span>
      </div>`,
    )}
  </div>`;
}

function Failures({ failures }) {
  const entries = failures.data?.history ?? [];
  const hour = entries.filter(({ created_at: at }) => Date.parse(at) > Date.parse(hoursAgo(1))).length;
  const some = (count, hours) =>
    count ? html`<a href=${link(['changes'], { severity: 'ERROR', hours })}><b>${number(count)}</b></a>${failures.data?.next && count === entries.length && ' or more'}` : html`<b>0</b>`;
  return html`<${Card} title="Failures" actions=${html`<a href=${link(['changes'], { severity: 'ERROR' })}>All failures</a>`}>
    ${failures.data && html`<p>Last hour: ${some(hour, 1)}, last day: ${some(entries.length, 24)}</p>`}
    <${Entries} state=${failures} />
  <//>`;
}

/** The first entries of a history. */
function Entries({ state, none = '' }) {
  const problem = html`<${Problem} error=${state.error} retry=${state.reload} at=${state.at} />`;
  if (!state.data) return state.error ? problem : html`<${Busy} />`;
  const entries = state.data.history.slice(0, SHOWN);
  return html`${problem}
    ${!entries.length && none && html`<p class="muted">${none}</p>`}
    <ul class="entries">${entries.map(
      (entry) => html`<li key=${entry.uuid}>
        <${NodeLink} uuid=${entry.node_uuid} name=${entry.node_name} /> <span class="muted"><${Time} at=${entry.created_at} ago /></span>
        <div><${What} entry=${entry} most=${FEW} /></div>
      </li>`,
    )}</ul>`;
}

/** The hosts with workers. Only users of the system may see them. */
function Workers({ turn }) {
  const outage = useContext(Outage);
  const state = useData(isOperator() ? 'conductors' : null, (signal) => get('/v1/conductors', { signal }), turn);
  const { data, error } = state;
  if ((!data && (!error || error.message === outage)) || HIDDEN.includes(error?.status)) return null;
  return html`<${Card} title="Workers">
    <${Problem} error=${state.error} retry=${state.reload} at=${state.at} />
    ${data?.conductors.length === 0 && html`<p class="note warn">There is no worker: nothing executes the verbs.</p>`}
    <ul class="entries">${data?.conductors.map(
      ({ hostname, conductor_group: group, alive }) => html`<li><span class="state ${alive ? 'good' : 'bad'}">${alive ? 'alive' : 'silent'}</span> ${hostname} ${group && html`<span class="muted">group ${group}</span>`}</li>`,
    )}</ul>
  <//>`;
}
