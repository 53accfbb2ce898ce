// Changes of many nodes at once: their traits, or an action. With a preview, progress and a report.
import { nextPath, pages, query, request } from '../api.js';
import { useAction, useCancel } from '../data.js';
import { ListFile, number, plural } from '../format.js';
import { namesIn } from '../forms.js';
import { html } from '../html.js';
import { guard, place } from '../router.js';
import { TraitInput } from '../trait_input.js';
import { useEffect, useState } from '../vendor/hooks.js';
import { Card, NodeLink, Problem } from '../widgets.js';

/** The changes: {action: label}. */
const ACTIONS = {
  traits: 'Add or remove traits',
  maintenance: 'Set maintenance',
  unset_maintenance: 'End maintenance',
  manage: 'Manage',
  provide: 'Provide',
  inspect: 'Inspect',
  adopt: 'Adopt',
  abort: 'Abort',
  unhold: 'Unhold',
};
/** Nodes of one request: few enough that progress is visible. Nodes of one change. Nodes that a report shows. */
const BATCH = 200;
const MAX_NODES = 100000;
const MAX_SHOWN = 20;
const EDITS = '/v1/traits/edits';
const QUESTION = 'The change stops, and its report is lost. Leave?';
const COLUMNS = ['uuid', 'name', 'outcome', 'details'];

/** Return [path, body] of a change from a form; throws Error with a sentence for people. */
function changeOf(form) {
  const action = form.get('action');
  if (action !== 'traits') return ['/v1/nodes/actions', { action, ...(form.get('reason') && { reason: form.get('reason') }) }];
  const [add, remove] = ['add', 'remove'].map((name) => namesIn(form.get(name)));
  if (!add.length && !remove.length) throw new Error('Enter a trait to add or to remove.');
  return [EDITS, { ...(add.length && { add }), ...(remove.length && { remove }) }];
}

/** Return the lines of a report for a response about actions: [{uuid, name, outcome, details}]. */
const linesOf = ({ nodes }) => nodes.map(({ uuid, name, outcome, error }) => ({ uuid, name, outcome, details: error ?? '' }));

/** Return the line of a report for a node of which the outcome is unknown. */
const uncertain = (line) => (line.outcome === 'done' ? { ...line, outcome: 'unknown', details: `${line.details} Look at the node.`.trim() } : line);

/** Return the part of a preview for some nodes: {nodes, digest, lines}. Throws ApiError. */
async function previewOf([path, body], nodes, signal) {
  const without = async (refused) => {
    const others = nodes.filter((uuid) => !refused.has(uuid));
    const part = others.length ? await previewOf([path, body], others, signal) : { nodes: [], lines: [] };
    return { ...part, lines: [...refused.values(), ...part.lines] };
  };
  let result;
  try {
    result = await request('POST', path === EDITS ? `${path}?limit=${BATCH}` : path, { ...body, nodes, preview: true }, { signal });
  } catch (error) {
    const gone = error.status === 404 && nodes.find((uuid) => error.message.includes(uuid));
    if (!gone) throw error;
    return without(new Map([[gone, { uuid: gone, name: null, outcome: 'refused', details: 'It does not exist any more.' }]]));
  }
  if (path !== EDITS) return { nodes, digest: result.digest, lines: linesOf(result) };
  const refused = new Map([
    ...result.locked_nodes.map((node) => [node.uuid, { ...node, outcome: 'refused', details: 'A worker works on it.' }]),
    ...result.exceeding_nodes.map((node) => [node.uuid, { ...node, outcome: 'refused', details: 'It would have too many traits.' }]),
  ]);
  // An edit is refused as a whole. So the others are edited without these.
  if (refused.size) return without(refused);
  const changed = new Map(result.nodes.map((node) => [node.uuid, node]));
  // The limit of the service may be lower.
  for (let { next } = result; next; ) {
    const page = await request('POST', nextPath(next), { ...body, nodes, preview: true }, { signal });
    page.nodes.forEach((node) => changed.set(node.uuid, node));
    next = page.next;
  }
  return { nodes, digest: result.digest, lines: nodes.map((uuid) => lineOf(uuid, changed.get(uuid))) };
}

/** Return the line of a report for a node that an edit selects; change: that of the preview, undefined for none. */
function lineOf(uuid, change) {
  if (!change) return { uuid, name: null, outcome: 'unchanged', details: '' };
  const { name, gains, loses, vetoed } = change;
  const texts = [...gains.map((each) => `+${each}`), ...loses.map((each) => `−${each}`), ...vetoed.map((each) => `${each} is vetoed`)];
  const isChanged = gains.length || loses.length || !vetoed.length;
  return { uuid, name, outcome: isChanged ? 'done' : 'unchanged', details: texts.join(' ') || 'only sources of its traits' };
}

/** Return the preview of a change, a part for each request. Throws ApiError. */
async function preview(change, nodes, signal, onProgress) {
  const parts = [];
  for (let start = 0; start < nodes.length; start += BATCH) {
    onProgress(start);
    parts.push(await previewOf(change, nodes.slice(start, start + BATCH), signal));
  }
  return parts;
}

/**
 * A card that changes nodes. It stays mounted until it is closed, so that its report stays. present: the filters of the
 * list now. If they are others than those of the card, it changes nothing more, and goes unless it has a report.
 */
export function Bulk({ nodes, filters, present, total, onDone, onClose }) {
  const isOld = query(present) !== query(filters);
  const [action, setAction] = useState('traits');
  const [progress, setProgress] = useState(null);
  const [report, setReport] = useState(null);
  const { begin, cancel } = useCancel();
  const [run, looked, forget] = useAction(async (form) => {
    setReport(null);
    const change = changeOf(form);
    const signal = begin();
    const uuids = nodes ?? (await uuidsOf(filters, signal));
    const parts = await preview(change, uuids, signal, (done) => setProgress({ done, whole: uuids.length }));
    return { change, parts };
  });
  const [apply, applied, reset] = useAction(async ({ change: [path, body], parts }) => {
    const signal = begin();
    const lines = [];
    const whole = parts.reduce((sum, part) => sum + part.lines.length, 0);
    let sent = /** @type {any} */ (null);
    try {
      for (const part of parts) {
        // A request that has begun is not cut: nobody would know what it has done.
        if (signal.aborted) break;
        setProgress({ done: lines.length, whole });
        sent = part;
        const result = part.nodes.length ? await request('POST', path, { ...body, nodes: part.nodes, digest: part.digest }) : { nodes: [] };
        const refused = part.lines.filter(({ uuid }) => !part.nodes.includes(uuid));
        lines.push(...(path === EDITS ? part.lines : [...refused, ...linesOf(result)]));
      }
    } catch (error) {
      // Without a response, or with a failure of the server, the service may have done it.
      if (!(error.status >= 400 && error.status < 500)) lines.push(...sent.lines.map(uncertain));
      throw error;
    } finally {
      setReport({ lines, left: whole - lines.length });
      onDone();
    }
  });
  useEffect(() => (applied.running ? askBeforeLeaving() : undefined), [applied.running]);
  useEffect(() => {
    if (isOld && !applied.running && !report) onClose();
  }, [isOld, applied.running]);
  const change = () => {
    forget();
    reset();
    setReport(null);
  };
  const submit = (event) => {
    event.preventDefault();
    change();
    run(new FormData(event.target));
  };
  const isBusy = looked.running || applied.running;
  const count = nodes ? nodes.length : total;
  const lines = looked.result?.parts.flatMap((part) => part.lines);
  return html`<${Card} title=${`Change ${count === undefined ? 'all nodes of the list' : plural(count, 'node')}`}
    actions=${html`<button type="button" class="small" disabled=${applied.running} onClick=${onClose}>Close</button>`}>
    <form onSubmit=${submit} onInput=${change} onChange=${change}><fieldset class="row" disabled=${isBusy || isOld}>
      <label>Action <select name="action" value=${action} onChange=${(event) => setAction(event.target.value)}>
        ${Object.entries(ACTIONS).map(([value, label]) => html`<option value=${value}>${label}</option>`)}
      </select></label>
      ${action === 'traits' && html`<${TraitInput} label="Add" name="add" size="24" /><${TraitInput} label="Remove" name="remove" size="24" />`}
      ${action === 'maintenance' && html`<label>Reason <input name="reason" size="30" /></label>`}
      <button type="submit">Preview</button>
    </fieldset></form>
    <${Problem} error=${looked.error?.name === 'AbortError' ? null : looked.error} />
    ${isBusy && html`<${Progress} ...${progress} words=${applied.running ? 'changed' : 'previewed'} onCancel=${cancel} />`}
    ${lines && !report && !isBusy && html`<${Report} lines=${lines} isPreview />
      <div class="buttons"><button type="button" class="primary" disabled=${!lines.some(({ outcome }) => outcome === 'done')} onClick=${() => apply(looked.result)}>Apply</button></div>`}
    <${Problem} error=${applied.error} />
    ${report && !isBusy && html`<${Report} ...${report} />`}
  <//>`;
}

/** Ask before the view is left: the change would stop. Returns the end of this. */
function askBeforeLeaving() {
  let isAsked = false;
  const leaves = ({ path }) => path.join('/') !== 'nodes';
  const ask = (event) => {
    const target = event.type === 'click' && event.target.closest('a[href^="#"]');
    const isLeaving = event.type === 'beforeunload' || (target && leaves(place(target)));
    isAsked = Boolean(target) && isLeaving && confirm(QUESTION);
    if (isLeaving && !isAsked) event.preventDefault();
  };
  const each = (change) => ['click', 'beforeunload'].forEach((name) => change(name, ask, true));
  each(addEventListener);
  const end = guard((next) => {
    // A click that was allowed may have opened another tab.
    const was = isAsked;
    isAsked = false;
    return !leaves(next) || was || confirm(QUESTION);
  });
  return () => {
    each(removeEventListener);
    end();
  };
}

/** Return the uuids of the nodes that filters select. Throws TooMany. */
async function uuidsOf(filters, signal) {
  const uuids = [];
  for await (const nodes of pages(`/v1/nodes${query({ fields: 'uuid', ...filters, limit: 1000 })}`, 'nodes', { max: MAX_NODES, signal })) {
    uuids.push(...nodes.map(({ uuid }) => uuid));
  }
  return uuids;
}

function Progress({ done = 0, whole, words, onCancel }) {
  return html`<p class="row"><progress max=${whole || 1} value=${whole ? done : undefined} aria-label="Progress"></progress>
    <span role="status">${number(done)}${whole ? ` of ${plural(whole, 'node')}` : ''} ${words} …</span>
    <button type="button" class="small" onClick=${onCancel}>Stop</button></p>`;
}

/** What a change does, or has done; left: the number of nodes that it has not reached. */
function Report({ lines, left = 0, isPreview = false }) {
  const counts = {};
  for (const { outcome } of lines) counts[outcome] = (counts[outcome] ?? 0) + 1;
  const words = { done: isPreview ? 'would change' : 'changed', unchanged: isPreview ? 'would stay as they are' : 'unchanged', refused: isPreview ? 'would refuse' : 'refused', unknown: 'without an answer' };
  const order = ['unknown', 'refused', 'done', 'unchanged'];
  const shown = [...lines].sort((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome)).slice(0, MAX_SHOWN);
  const save = (kind) => {
    const file = new ListFile(kind, 'report', COLUMNS);
    file.add(lines);
    file.save();
  };
  return html`<div class="note ${counts.refused || counts.unknown || left ? 'warn' : isPreview ? '' : 'good'}" role="status">
      <strong>${['done', 'unchanged', 'refused', 'unknown'].filter((name) => counts[name]).map((name) => `${plural(counts[name], 'node')} ${words[name]}`).join(', ') || 'No node.'}</strong>
      ${left > 0 && html` ${plural(left, 'node')} not reached: preview again to go on.`}
    </div>
    ${shown.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Outcome for each node"><table>
      <thead><tr><th scope="col">Node</th><th scope="col">Outcome</th><th scope="col">Details</th></tr></thead>
      <tbody>${shown.map(({ uuid, name, outcome, details }) => html`<tr key=${uuid}><td class="name"><${NodeLink} uuid=${uuid} name=${name} /></td><td>${words[outcome]}</td><td class="wrap">${details}</td></tr>`)}</tbody>
    </table></div>`}
    ${lines.length > shown.length && html`<p class="muted">and ${plural(lines.length - shown.length, 'other node')}: the report has all of them</p>`}
    <div class="row"><span class="muted">Save the ${isPreview ? 'preview' : 'report'}:</span>
      <button type="button" class="small" onClick=${() => save('csv')}>CSV report</button>
      <button type="button" class="small" onClick=${() => save('json')}>JSON report</button></div>`;
}
