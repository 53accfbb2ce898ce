// The list of nodes.
import { TooMany, get, isOperator, pages, query, request, warnings } from '../api.js';
import { useAction, useCancel, useData } from '../data.js';
import { ListFile, curl, number, plural, quote, text } from '../format.js';
import { namesIn } from '../forms.js';
import { html } from '../html.js';
import { PAGE_PARAMETERS, all, go, link } from '../router.js';
import { TraitInput } from '../trait_input.js';
import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { COLUMNS as STORED, ROWS, SIZE, store, stored } from '../stored.js';
import { Busy, Command, Confirm, Empty, NodeLink, Problem, State, Time, Traits } from '../widgets.js';
import { Bulk } from './bulk.js';
import { NoNodes } from './examples.js';
import { Facets, MAX_VALUES } from './facets.js';
import { COLUMNS, FIELDS, FLAGS, TRAIT_FILTERS, changed, chips, filtersOf, options, requestFilters, withTrait } from './filters.js';
import { NodePager, SIZES, orderOf, otherPages, pageOf, sizeOf } from './node_pages.js';
import { ONE_OF } from './why.js';

const DEFAULT = ['name', 'provision_state', 'resource_class', 'power_state', 'maintenance', 'traits'];
/** The most nodes that a tab downloads: the browser holds the file until it is saved. */
const MAX_DOWNLOAD = 100000;
const MIRRORS = '/v1/mirrors';

export function Nodes({ parameters }) {
  const columns = columnsOf(parameters);
  const filters = filtersOf(parameters);
  const { paging, isReversed } = pageOf(parameters);
  const fields = ['uuid', 'name', ...columns.filter((name) => !['uuid', 'name'].includes(name))];
  const list = `/v1/nodes${query({ fields: fields.join(','), ...filters, ...orderOf(parameters) })}`;
  const page = `/v1/nodes${query({ fields: fields.join(','), ...filters, ...paging })}`;
  // The last page in one order is the first one in the other.
  const state = useData(`${page} ${isReversed}`, async (signal) => {
    const read = await get(page, { signal });
    if (isReversed) read.nodes.reverse();
    return read;
  });
  const facets = useData(query(filters), (signal) => get(`/v1/facets${query({ by: Object.keys(FIELDS).join(','), limit: MAX_VALUES + 1, ...filters })}`, { signal }));
  const section = useRef(null);
  const [turn, setTurn] = useState(0);
  const retry = () => {
    [state, facets].forEach((each) => each.reload());
    setTurn((old) => old + 1);
  };
  const [chosen, setChosen] = useState(new Set());
  useEffect(() => setChosen(new Set()), [query(filters)]);
  const [bulk, setBulk] = useState(null);
  const total = facets.loading ? undefined : facets.data?.nodes;
  const isPart = state.data && ['first', 'previous', 'next'].some((name) => otherPages(parameters, state.data, total)[name]);
  const [aside, setAside] = useState(() => matchMedia('(min-width: 901px)').matches);
  return html`
    <div class="title">
      <h1>Nodes</h1>
      <span class="muted ${facets.loading ? 'stale' : ''}" role="status">${facets.data ? plural(facets.data.nodes, 'node') : ''}</span>
      <${Search} parameters=${parameters} />
    </div>
    <${WaitingMirrors} onChange=${state.reload} />
    <div class="browse">
      <div class="stack">
        <button type="button" class="only-narrow" aria-expanded=${aside} onClick=${() => setAside(!aside)}>
          ${aside ? 'Hide filters' : 'Show filters'}
        </button>
        <button type="button" class="skip" onClick=${() => (section.current.querySelector('tbody a') ?? section.current).focus()}>Skip to the nodes</button>
        ${aside && html`<${Facets} parameters=${parameters} fields=${facets} turn=${turn} isQuiet=${Boolean(state.error)} />`}
      </div>
      <section class="card" aria-label="Nodes" ref=${section} tabindex="-1">
        <${AddTrait} parameters=${parameters} />
        <div class="tools">
          <${AddFlag} parameters=${parameters} />
          <span class="spread"></span>
          ${chosen.size > 0 && html`<button type="button" class="plain" aria-label="Clear the selection" onClick=${() => setChosen(new Set())}>Clear</button>`}
          <button type="button" disabled=${bulk || !state.data?.nodes.length} onClick=${() => setBulk({ nodes: chosen.size ? [...chosen] : null, filters, total })}>
            Change ${chosen.size ? plural(chosen.size, 'node') : 'all'}</button>
          <${Columns} columns=${columns} parameters=${parameters} />
          <${Download} path=${list} columns=${fields} filters=${filters} total=${total} />
        </div>
        ${bulk && html`<${Bulk} ...${bulk} present=${filters} onDone=${retry} onClose=${() => setBulk(null)} />`}
        <${Chips} parameters=${parameters} />
        <${Problem} error=${state.error} retry=${retry} at=${state.at} ways=${{ 400: ['All nodes', '#/nodes'], ...(PAGE_PARAMETERS.some((name) => parameters.get(name)) && { 404: ['First page', link(['nodes'], changed(parameters, {}))] }) }} />
        ${!state.data && state.loading && html`<${Busy} />`}
        ${state.data && html`<${Table} ...${{ list: state.data, columns, parameters, loading: state.loading, isStale: state.isStale, chosen, onChoose: setChosen, onCreate: retry }} />`}
        ${state.data && html`<${NodePager} parameters=${parameters} list=${state.data} total=${total} isStale=${state.isStale} />`}
        <details class="commands">
          <summary>The same with a command</summary>
          <${Command} label="curl">${curl(list)}<//>
          <${Baremetal} filters=${filters} columns=${columns} order=${order(parameters, fields, state.data?.nodes ?? [])} more=${isPart || parameters.get('sort_key') ? ['--limit', '0'] : []} />
        </details>
      </section>
    </div>`;
}

/**
 * Return the options of "baremetal node list" for the order of the nodes; null if it cannot sort them.
 *
 * The client sorts what it has received, so it needs all nodes, and a value of each.
 */
function order(parameters, fields, nodes) {
  const [key, direction] = [parameters.get('sort_key'), parameters.get('sort_dir')];
  if (!key) return [];
  const isSortable = fields.includes(key) && nodes.every((node) => (node[key] ?? null) !== null);
  return isSortable ? ['--sort', `${key}:${direction || 'asc'}`] : null;
}

/** Return the columns: those of the place, else those that the browser remembers. */
function columnsOf(parameters) {
  const names = (parameters.get('columns') ?? stored(STORED))?.split(',') ?? DEFAULT;
  return names.filter((name) => Object.hasOwn(COLUMNS, name));
}

function Search({ parameters }) {
  const input = useRef(null);
  const present = parameters.get('search') ?? '';
  useEffect(() => {
    input.current.value = present;
  }, [present]);
  const submit = (event) => {
    event.preventDefault();
    go(['nodes'], changed(parameters, { search: input.current.value.trim() }));
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    <input ref=${input} type="search" aria-label="Search nodes" placeholder="Name, description, or the beginning of a uuid" />
    <button type="submit">Search</button>
  </form>`;
}

function Chips({ parameters }) {
  const present = chips(parameters);
  if (!present.length) return null;
  return html`<ul class="chips" aria-label="Filters">
    ${present.map(
      ({ name, words, text: value, without }) => html`<li key=${name + value} class="chip ${name.startsWith('not-') ? 'not' : ''}">
        <span>${words} <b>${value}</b></span>
        <a href=${link(['nodes'], without)} aria-label=${`Remove the filter: ${words} ${value}`}>×</a>
      </li>`,
    )}
    <li><a href=${link(['nodes'], changed(parameters, Object.fromEntries(present.map(({ name }) => [name, null]))))}>Remove all</a></li>
  </ul>`;
}

function AddTrait({ parameters }) {
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const list = namesIn(String(form.get('names')));
    const kind = String(form.get('kind'));
    if (!list.length) return;
    const merged = list.reduce(
      (current, name) => new URLSearchParams(link([], withTrait(current, kind, name)).split('?')[1] ?? ''),
      parameters,
    );
    event.target.reset();
    go(['nodes'], changed(merged, {}));
  };
  return html`<form class="add-trait" onSubmit=${submit}>
    <select name="kind" aria-label="How the traits filter">
      ${Object.entries(TRAIT_FILTERS).map(([kind, words]) => html`<option value=${kind}>${words}</option>`)}
    </select>
    <${TraitInput} name="names" aria-label="Traits" placeholder="Filter by traits, e.g. HW_CPU_X86_VMX" />
    <button type="submit" class="primary">Add</button>
  </form>`;
}

function AddFlag({ parameters }) {
  const change = (event) => {
    const [name, value] = event.target.value.split('=');
    event.target.value = '';
    go(['nodes'], changed(parameters, { [name]: value }));
  };
  return html`<select aria-label="Add a filter" onChange=${change}>
    <option value="">More filters …</option>
    ${Object.entries(FLAGS).flatMap(([name, words]) =>
      words.map((label, index) => html`<option value=${`${name}=${index === 0}`}>${label}</option>`),
    )}
  </select>`;
}

function Columns({ columns, parameters }) {
  const toggle = (name) => {
    const chosen = columns.includes(name) ? columns.filter((each) => each !== name) : [...columns, name];
    const sorted = Object.keys(COLUMNS).filter((each) => chosen.includes(each)).join(',');
    store(STORED, sorted);
    go(['nodes'], { ...all(parameters), columns: sorted }, { replace: true });
  };
  const forget = () => {
    [STORED, SIZE].forEach((name) => store(name, null));
    go(['nodes'], changed(parameters, { columns: DEFAULT.join(','), limit: '' }), { replace: true });
  };
  const resize = ({ target }) => {
    store(SIZE, target.value);
    go(['nodes'], changed(parameters, { limit: target.value }));
  };
  return html`<details class="menu">
    <summary>Columns</summary>
    <div>
      ${Object.entries(COLUMNS)
        .filter(([, { is_selectable: isSelectable }]) => isSelectable)
        .map(
          ([name, { label }]) => html`<label class="check">
            <input type="checkbox" checked=${columns.includes(name)} onChange=${() => toggle(name)} /> ${label}
          </label>`,
        )}
      <button type="button" class="small" onClick=${forget}>The usual columns</button>
      <label class="check">Rows <select onChange=${resize}>
        ${SIZES.map((size) => html`<option value=${size} selected=${size === sizeOf(parameters)}>${size}</option>`)}
      </select></label>
      <${CompactRows} />
    </div>
  </details>`;
}

/** The choice of low rows, for all tables. The browser remembers it. */
function CompactRows() {
  const { dataset } = document.documentElement;
  const change = ({ target }) => {
    dataset.rows = target.checked ? 'compact' : '';
    store(ROWS, dataset.rows || null);
  };
  return html`<label class="check"><input type="checkbox" defaultChecked=${dataset.rows === 'compact'} onChange=${change} /> Compact rows</label>`;
}

/** Downloads of all nodes of a list; total: how many there are, if that is known. */
function Download({ path, columns, filters, total }) {
  const [progress, setProgress] = useState({ done: 0, total: undefined });
  const { begin, cancel } = useCancel();
  const [run, state, reset] = useAction(async (kind) => {
    if (total > MAX_DOWNLOAD) throw new TooMany();
    const signal = begin();
    const file = new ListFile(kind, 'nodes', columns);
    // The total of this list: the filters may change meanwhile.
    const showProgress = () => setProgress({ done: file.length, total });
    showProgress();
    for await (const nodes of pages(`${path}&limit=1000`, 'nodes', { max: MAX_DOWNLOAD, signal })) {
      file.add(nodes);
      showProgress();
    }
    file.save();
  });
  if (state.running) {
    const { done, total: whole } = progress;
    return html`<progress max=${whole || 1} value=${whole ? done : undefined} aria-label="Download"></progress>
      <span role="status">${number(done)}${whole === undefined ? '' : ` of ${number(whole)}`} nodes …</span>
      <button type="button" onClick=${cancel}>Cancel</button>`;
  }
  return html`
    ${state.error instanceof TooMany
      ? html`<${TooLong} ...${{ path, columns, filters, reset }} />`
      : state.error && state.error.name !== 'AbortError' && html`<${Problem} error=${state.error} />`}
    <button type="button" onClick=${() => run('csv')}>CSV</button>
    <button type="button" onClick=${() => run('json')}>JSON</button>`;
}

/** How to get a list that is too long for the browser. It goes when the list is another one. */
function TooLong({ path, columns, filters, reset }) {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) reset();
  }, [path]);
  return html`<div class="note warn whole" role="alert">
    <p><strong>There are more than ${number(MAX_DOWNLOAD)} nodes: too many for the browser to download.</strong> Filter them, or use a command:</p>
    <${Baremetal} filters=${filters} columns=${columns} more=${['--limit', '0', '-f', 'csv']} />
    <${Command} label="curl">${curl(`${path}&limit=1000`)}<//>
    <p>curl gets one page. <code>next</code> in it is the URL of the next one.</p>
    <button type="button" onClick=${reset}>Close</button>
  </div>`;
}

function Baremetal({ filters, columns, order: sorting = [], more = [] }) {
  const words = options(filters);
  if (!words) return html`<p class="muted">“baremetal node list” has no option for one of these filters, or not for its value.</p>`;
  const fields = columns.filter((name) => COLUMNS[name].is_selectable && name !== 'reservation_uuid' && name !== 'origin');
  // Before --fields, because options with traits take all words up to the next option.
  return html`<${Command} label="baremetal">${['baremetal', 'node', 'list', ...words.map(quote), ...more, ...(sorting ?? []), '--fields', ...(fields.length ? fields : ['uuid'])].join(' ')}<//>
    ${sorting === null && html`<p class="muted">“baremetal node list” cannot sort by this field: it needs a column for it, and a value of each node.</p>`}`;
}

/** The table of the nodes; chosen: the uuids of those that are selected. */
function Table({ list, columns, parameters, loading, isStale, chosen, onChoose, onCreate }) {
  const { nodes } = list;
  const uuids = nodes.map(({ uuid }) => uuid);
  const isWhole = uuids.every((uuid) => chosen.has(uuid));
  const choose = (some, isChosen) => onChoose(new Set(isChosen ? [...chosen, ...some] : [...chosen].filter((uuid) => !some.includes(uuid))));
  const box = (label, some, isChosen) => html`<input type="checkbox" aria-label=${label} checked=${isChosen} disabled=${isStale} onChange=${() => choose(some, !isChosen)} />`;
  // The parameters are not those of the list.
  if (!nodes.length && isStale) return html`<${Busy} />`;
  if (!nodes.length) return html`<${None} parameters=${parameters} reasons=${warnings.get(list) ?? []} onCreate=${onCreate} />`;
  return html`<div class="scroll ${loading ? 'stale' : ''}" tabindex="0" role="region" aria-label="Table of nodes">
    <table class="nodes" role="table">
      <thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader" class="choice">${box('Select all nodes of this page', uuids, isWhole)}</th>${columns.map((name) => html`<${Heading} key=${name} name=${name} parameters=${parameters} />`)}</tr></thead>
      <tbody role="rowgroup">
        ${nodes.map((node) => html`<tr key=${node.uuid} role="row" class=${chosen.has(node.uuid) ? 'selected' : ''}><td role="cell" class="choice">${box(`Select ${node.name ?? node.uuid}`, [node.uuid], chosen.has(node.uuid))}</td>${columns.map((name) => html`<td key=${name} role="cell" class=${name} data-label=${COLUMNS[name].label}><${Cell} node=${node} name=${name} parameters=${parameters} /></td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function Heading({ name, parameters }) {
  const { label, is_sortable: isSortable } = COLUMNS[name];
  if (!isSortable) return html`<th scope="col" role="columnheader">${label}</th>`;
  const isKey = orderOf(parameters).sort_key === name;
  const descending = parameters.get('sort_dir') === 'desc';
  const target = changed(parameters, { sort_key: name, sort_dir: isKey && !descending ? 'desc' : '' });
  const sorting = isKey ? (descending ? 'descending' : 'ascending') : undefined;
  return html`<th scope="col" role="columnheader" aria-sort=${sorting}>
    <a href=${link(['nodes'], target)}>${label}<span class="order" aria-hidden="true">${isKey ? (descending ? ' ↓' : ' ↑') : ' ↕'}</span></a>
  </th>`;
}

function Cell({ node, name, parameters }) {
  const value = node[name];
  // The list was loaded before its reader chose the column.
  if (value === undefined) return null;
  if (name === 'name') return html`<${NodeLink} uuid=${node.uuid} name=${value} />`;
  if (name === 'uuid') return html`<a class="mono" href=${link(['nodes', value])}>${value}</a>`;
  if (name === 'provision_state') return html`<${State} state=${value} />`;
  if (name === 'maintenance') return value ? html`<span class="state moving">yes</span>` : html`<span class="muted">no</span>`;
  if (name === 'updated_at') return html`<${Time} at=${value} ago />`;
  if (name === 'traits') return html`<${Traits} names=${value} first=${['traits', 'traits-any'].flatMap((kind) => parameters.getAll(kind)).flatMap((each) => each.split(','))} />`;
  return value === null || value === '' ? html`<span class="muted">–</span>` : text(value);
}

/** Return the question that the filters ask, as parameters of the view "why". */
function question(parameters) {
  const joined = (name) => parameters.getAll(name).join(',');
  return {
    ...Object.fromEntries(['resource_class', ...requestFilters()].map((name) => [name, parameters.get(name)])),
    required: joined('traits'),
    forbidden: joined('not-traits-any'),
    ...Object.fromEntries(parameters.getAll('traits-any').slice(0, ONE_OF.length).map((names, index) => [ONE_OF[index], names])),
  };
}

function None({ parameters, reasons, onCreate }) {
  if (chips(parameters).length) {
    return html`<${Empty} title="No node matches these filters.">
      ${reasons.map((sentence) => html`<p key=${sentence}>${sentence}</p>`)}
      <p>Remove a filter above, or ask <a href=${link(['why'], question(parameters))}>why no node matches</a>.</p>
    <//>`;
  }
  return html`<${NoNodes} onCreate=${onCreate} />`;
}

/** The mirrors that an operator has to decide about. Only users of the system may see mirrors. */
function WaitingMirrors({ onChange }) {
  const { data, reload } = useData(isOperator() ? MIRRORS : null, (signal) => get(MIRRORS, { signal }));
  const waiting = (data?.mirrors ?? []).filter((mirror) => mirror.waits_for.length);
  return waiting.map(
    (mirror) => html`
      ${mirror.waits_for.includes('deletions') && html`<${Missing} key=${mirror.name} mirror=${mirror} onChange=${() => { reload(); onChange(); }} />`}
      ${mirror.waits_for.includes('writes') &&
      html`<div class="note warn">Traits wait to be written to cloud ${mirror.name}. See which, then confirm it:
        <${Command} label="preview">${`ironic-traits-mirror --cloud ${mirror.name} preview`}<//>
        <${Command} label="confirm">${`ironic-traits-mirror --cloud ${mirror.name} confirm writes`}<//></div>`}`,
  );
}

function Missing({ mirror, onChange }) {
  const { name, missing_nodes: count } = mirror;
  const [asking, setAsking] = useState(false);
  const [run, state] = useAction(async () => {
    await request('DELETE', `${MIRRORS}/${encodeURIComponent(name)}/missing_nodes?count=${count}`);
    onChange();
  }, onChange);
  return html`<div class="note warn" role="status">
    <p>Cloud ${name} no longer shows <strong>${plural(count, 'node')}</strong>. They stay here until you decide. Has the
      user of the mirror lost a role? <a href=${link(['nodes'], { origin: name })}>Nodes of ${name}</a></p>
    <${Problem} error=${state.error} />
    <button type="button" onClick=${() => setAsking(true)}>Delete them here …</button>
    ${asking &&
    html`<${Confirm} title=${`Delete ${plural(count, 'node')}?`} action="Delete" danger onClose=${() => setAsking(false)} onConfirm=${run}>
      <p>The mirror deletes those that are still missing then. A node that returns gets back its traits and vetoes.</p>
    <//>`}
  </div>`;
}
